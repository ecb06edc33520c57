/** One case, whole: what went in, what came out, what was expected, where it comes from and how it changed. */
import { getRouteApi, Link } from "@tanstack/react-router";
import { Facts, factsOf } from "@/ui/Facts";
import { moment } from "@/ui/format";
import { NeedsLook } from "@/ui/NeedsLook";
import { RecordFrame, Section } from "@/ui/Record";
import { remarkText } from "@/ui/reference";
import { Failed, Loading } from "@/ui/states";
import { TextBlock } from "@/ui/TextBlock";
import { CaseTier } from "@/ui/Tier";
import { CaseActions } from "./CaseActions";
import { CaseEvidence } from "./CaseEvidence";
import { CaseHistory } from "./CaseHistory";
import { type Case, type CaseDetail, useCase, useOpenQuestion } from "./data";
import { referenceOrigin } from "./reference";
import { oneOf, type RepeatedQuestion, useRepeats } from "./repeats";
import { Tags } from "./Tags";

const route = getRouteApi("/cases/$dataset/$caseId");

export function CaseRecord() {
  const { dataset, caseId } = route.useParams();
  const navigate = route.useNavigate();
  const found = useCase(dataset, caseId);
  const question = useOpenQuestion(dataset, caseId);
  const close = () => void navigate({ to: "/cases", search: (before) => before });

  if (found.isPending) return <Loading what="case" />;
  if (found.isLoadingError) {
    return (
      <RecordFrame title={caseId} close={close}>
        <Failed error={found.error} retry={() => void found.refetch()} />
      </RecordFrame>
    );
  }
  const entry = found.data;
  return (
    <RecordFrame
      title={entry.name || entry.input || entry.id}
      badge={<CaseTier entry={entry} />}
      close={close}
      meta={
        <>
          <span>{entry.dataset}</span>
          <span>{entry.kind}</span>
          <span>{entry.review === "validated" ? "validated" : "not validated"}</span>
          {entry.status !== "active" && <span>{entry.status}</span>}
          <span>{moment(entry.updated_at ?? entry.created_at)}</span>
          <Tags tags={entry.tags} />
        </>
      }
    >
      <CaseActions entry={entry} />
      <NeedsLook question={question} traceId={entry.provenance.trace_id} />
      <Texts entry={entry} />
      <CaseEvidence entry={entry} />
      <Section title="Its reference">
        <ReferenceFacts entry={entry} />
      </Section>
      <Section title="Where it comes from">
        <Origin entry={entry} />
      </Section>
      {Object.keys(entry.metadata ?? {}).length > 0 && (
        <Section title="Metadata">
          <Facts facts={factsOf(entry.metadata)} />
        </Section>
      )}
      <Section title="History">
        <CaseHistory dataset={entry.dataset} caseId={entry.id} />
      </Section>
    </RecordFrame>
  );
}

function Texts({ entry }: { entry: Case }) {
  const wrong = entry.entry_type !== "golden";
  const remark = remarkText(entry);
  return (
    <Section title="The case">
      <div style={{ display: "grid", gap: 18 }}>
        <TextBlock label="Input" text={entry.input} />
        <TextBlock label="Output" text={entry.output} absent="no output recorded" tone={wrong ? "rust" : "plain"} />
        {entry.approved?.text && <TextBlock label="Approved by a person" text={entry.approved.text} tone="gold" />}
        {entry.revised?.text && <TextBlock label="Corrected answer" text={entry.revised.text} tone="gold" />}
        {remark && <TextBlock label="What the user said against it" text={remark} />}
        {!remark && (entry.expected || !(entry.approved || entry.revised)) && (
          <TextBlock label="Expected" text={entry.expected} absent="nobody has written what was expected" tone="gold" />
        )}
      </div>
    </Section>
  );
}

function ReferenceFacts({ entry }: { entry: CaseDetail }) {
  const calls = entry.reference_answer?.tool_calls ?? [];
  const repeated = useRepeats([entry]).get(`${entry.dataset}/${entry.id}`);
  return (
    <Facts
      facts={[
        ["Comes from", referenceOrigin(entry)],
        ["Calls that belong to it", calls.map((call) => call.name).join(", ")],
        ["Asked again", repeated && <Repeats entry={entry} repeated={repeated} />],
      ]}
    />
  );
}

function Repeats({ entry, repeated }: { entry: Case; repeated: RepeatedQuestion }) {
  return (
    <>
      {oneOf(repeated)} of this question:{" "}
      {repeated.examples
        .filter((id) => id !== entry.id)
        .map((id, index) => (
          <span key={id}>
            {index > 0 && ", "}
            <Link to="/cases/$dataset/$caseId" params={{ dataset: entry.dataset, caseId: id }}>
              {id}
            </Link>
          </span>
        ))}
    </>
  );
}

function Origin({ entry }: { entry: Case }) {
  const from = entry.provenance;
  const trace = from.trace_id && (
    <Link to="/traces/$traceId" params={{ traceId: from.trace_id }}>
      {from.trace_id}
    </Link>
  );
  return (
    <Facts
      facts={[
        ["Case", <code key="id">{entry.id}</code>],
        ["Source", from.source],
        ["Trace", trace],
        ["Session", from.session_id],
        ["User", from.user_id],
        ["Policy", [from.policy, from.policy_rev].filter(Boolean).join(" @ ")],
        ["Chance of being sampled", from.inclusion_probability],
        ["Document", from.document],
        ["Repository", from.repository],
        ["Base commit", entry.base_commit],
        ["Task", from.task_id],
        ["Flow", from.flow_id],
        ["Created", moment(entry.created_at)],
        ["Version", entry.version],
      ]}
    />
  );
}
