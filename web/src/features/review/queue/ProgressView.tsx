/** How far we are, who did it, and how far reviewers agree, with the interval that says how sure that is. */
import { Progress, Table } from "@mantine/core";
import type { components } from "@/api/schema";
import { duration, share } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { useAgreement, useProgress } from "./data";
import { FigureText } from "./FigureText";
import listClasses from "./list.module.css";
import classes from "./progress.module.css";
import { QuestionAgreement } from "./QuestionAgreement";

type Figure = components["schemas"]["AgreementFigure"];

export function ProgressView() {
  const progress = useProgress();
  const agreement = useAgreement();
  if (progress.isPending || agreement.isPending) return <Loading what="progress" />;
  if (progress.isLoadingError) return <Failed error={progress.error} />;
  if (agreement.isLoadingError) return <Failed error={agreement.error} />;
  const agreed = agreement.data;
  return (
    <div className={classes.progress}>
      <Panel title="Datasets">
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Dataset</Table.Th>
              <Table.Th>Validated</Table.Th>
              <Table.Th>Dismissed</Table.Th>
              <Table.Th>
                <span className="eg-visually-hidden">Share validated</span>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {progress.data.datasets.map((row) => (
              <Table.Tr key={row.dataset}>
                <Table.Td>{row.dataset}</Table.Td>
                <Table.Td>
                  {row.validated} of {row.total}
                </Table.Td>
                <Table.Td>{row.dismissed}</Table.Td>
                <Table.Td width="40%">
                  <Progress
                    aria-label={`Validated in ${row.dataset}`}
                    value={(100 * row.validated) / Math.max(1, row.total)}
                  />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Panel>
      <Panel title="Reviewers">
        {progress.data.reviewers.length ? (
          <Reviewers rows={progress.data.reviewers} goal={progress.data.daily_goal} />
        ) : (
          <p className={listClasses.source}>Nobody has decided on a case yet.</p>
        )}
      </Panel>
      <Panel title="Agreement" aside={`${agreed.shared} cases with two opinions or more, ${agreed.disputed} disputed`}>
        <dl className={classes.figures}>
          <Shown name="Equal verdicts" figure={agreed.agreement} />
          <Shown name="Fleiss' kappa, everybody" figure={agreed.fleiss} />
          {agreed.pairs.map(({ reviewers, cohen }) => (
            <Shown key={reviewers.join()} name={`Cohen's kappa, ${reviewers.join(" and ")}`} figure={cohen} />
          ))}
        </dl>
      </Panel>
      <QuestionAgreement rows={agreed.questions} />
    </div>
  );
}

type ReviewersProps = { rows: readonly components["schemas"]["ReviewerProgress"][]; goal: number };

function Reviewers({ rows, goal }: ReviewersProps) {
  return (
    <Table.ScrollContainer minWidth={640} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Reviewer</Table.Th>
            <Table.Th>Today</Table.Th>
            <Table.Th>Time per case</Table.Th>
            <Table.Th>Agrees with colleagues</Table.Th>
            <Table.Th>Approved</Table.Th>
            <Table.Th>Dismissed</Table.Th>
            <Table.Th>Second opinions asked</Table.Th>
            <Table.Th>Skipped</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={row.reviewer}>
              <Table.Td>{row.reviewer}</Table.Td>
              <Table.Td>{goal > 0 ? `${row.today} of ${goal}` : row.today}</Table.Td>
              <Table.Td>{row.seconds_per_case === null ? "—" : duration(row.seconds_per_case * 1000)}</Table.Td>
              <Table.Td>{row.agreement.value === null ? "—" : share(row.agreement.value, 1)}</Table.Td>
              <Table.Td>{row.approve}</Table.Td>
              <Table.Td>{row.dismiss}</Table.Td>
              <Table.Td>{row.second_opinion}</Table.Td>
              <Table.Td>{row.skip}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Shown({ name, figure }: { name: string; figure: Figure }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <FigureText figure={figure} />
      </dd>
    </div>
  );
}
