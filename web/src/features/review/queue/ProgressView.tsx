/** How far we are, who did it, and how far reviewers agree, with the interval that says how sure that is. */
import { Progress, Table } from "@mantine/core";
import type { components } from "@/api/schema";
import { Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { useAgreement, useProgress } from "./data";
import classes from "./queue.module.css";

type Figure = components["schemas"]["AgreementFigure"];

export function ProgressView() {
  const progress = useProgress();
  const agreement = useAgreement();
  if (progress.isPending || agreement.isPending) return <Loading what="progress" />;
  if (progress.isError) return <Failed error={progress.error} />;
  if (agreement.isError) return <Failed error={agreement.error} />;
  const found = agreement.data;
  return (
    <div className={classes.progress}>
      <Panel title="Datasets">
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Dataset</Table.Th>
              <Table.Th>Validated</Table.Th>
              <Table.Th>Dismissed</Table.Th>
              <Table.Th />
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
          <Reviewers rows={progress.data.reviewers} />
        ) : (
          <p className={classes.source}>Nobody has decided on a case yet.</p>
        )}
      </Panel>
      <Panel title="Agreement" aside={`${found.shared} cases with two opinions or more, ${found.disputed} disputed`}>
        <dl className={classes.figures}>
          <Shown name="Equal verdicts" figure={found.agreement} />
          <Shown name="Fleiss' kappa, everybody" figure={found.fleiss} />
          {found.pairs.map(({ reviewers, cohen }) => (
            <Shown key={reviewers.join()} name={`Cohen's kappa, ${reviewers.join(" and ")}`} figure={cohen} />
          ))}
        </dl>
      </Panel>
    </div>
  );
}

function Reviewers({ rows }: { rows: readonly components["schemas"]["ReviewerProgress"][] }) {
  return (
    <Table.ScrollContainer minWidth={420}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Reviewer</Table.Th>
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
  const bounds =
    figure.low === null || figure.high === null
      ? "no interval"
      : `95 %: ${figure.low.toFixed(2)} to ${figure.high.toFixed(2)}`;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {figure.value === null ? (
          <span className={classes.source}>{figure.reason}</span>
        ) : (
          <>
            <b>{figure.value.toFixed(2)}</b>{" "}
            <span className={classes.source}>
              {bounds}, n = {figure.n}
            </span>
          </>
        )}
      </dd>
    </div>
  );
}
