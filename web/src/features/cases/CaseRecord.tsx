/** One case, whole: what went in, what came out, what was expected, where it comes from and how it changed. */
import { getRouteApi, Link } from "@tanstack/react-router";
import { AssertionList } from "@/ui/Assertions";
import { CaseTier, EVIDENCE, NeedsLook, remarkText } from "@/ui/cases";
import { moment } from "@/ui/format";
import { Messages } from "@/ui/Messages";
import { Facts, factsOf, RecordFrame, Section, Word } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { TextBlock } from "@/ui/TextBlock";
import { visible } from "@/ui/text";
import { CaseActions } from "./CaseActions";
import classes from "./cases.module.css";
import { Tags } from "./columns";
import {
  type Case,
  type CaseDetail,
  oneOf,
  type RepeatedQuestion,
  type Revision,
  referenceOrigin,
  useBasis,
  useCase,
  useHistory,
  useOpenQuestion,
  useRepeats,
} from "./data";

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
      badge={
        <Word is="tier">
          <CaseTier entry={entry} />
        </Word>
      }
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
      {entry.assertions.length > 0 && (
        <Section title="What an answer must and must not do">
          <AssertionList assertions={entry.assertions} />
        </Section>
      )}
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
        ["Recorded with it", <Basis key="basis" dataset={entry.dataset} id={entry.id} />],
      ]}
    />
  );
}

/** The answer with its model and prompt, documents and results of tools, each with its hash and when it came last. */
function Basis({ dataset, id }: { dataset: string; id: string }) {
  const basis = useBasis(dataset, id);
  if (basis.isPending) return <Loading what="what it rests on" rows={1} />;
  if (basis.isLoadingError) return <Failed error={basis.error} retry={() => void basis.refetch()} />;
  if (basis.data.length === 0) return "nothing";
  return basis.data.map((one) => (
    <div key={`${one.kind} ${one.name} ${one.hash}`}>
      {one.kind}{" "}
      {visible([one.name, one.model, one.prompt_version && `prompt ${one.prompt_version}`].filter(Boolean).join(", "))}{" "}
      <code>{one.hash.slice(0, 12)}</code> · {moment(one.seen_at)}
    </div>
  ));
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
        ["Rests on", EVIDENCE[entry.evidence]],
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

/** What belongs to a case beside its texts: passages, tool calls, files and line ranges; each only where the case has it. */
function CaseEvidence({ entry }: { entry: Case }) {
  return (
    <>
      {entry.contexts.length > 0 && (
        <Section title="Contexts">
          <ol className={classes.contexts}>
            {entry.contexts.map((context, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a context is its place
              <li key={index} className={classes.context}>
                <span className={classes.number}>[{index + 1}]</span>
                <div>
                  {context.source && <div className={classes.source}>{context.source}</div>}
                  <TextBlock text={context.text} absent="this passage was lost; its place is kept" />
                </div>
              </li>
            ))}
          </ol>
        </Section>
      )}
      {entry.messages.length + entry.turn.length > 1 && (
        <Section title="Conversation">
          <Messages messages={[...entry.messages, ...entry.turn]} />
        </Section>
      )}
      {entry.turn.length === 0 && <Calls title="Tools called" calls={entry.tool_calls} />}
      <Calls title="Tools expected" calls={entry.expected_tools ?? []} />
      {entry.paths.length > 0 && (
        <Section title="Files, most needed first">
          <ol className={classes.paths}>
            {entry.paths.map((ranked) => (
              <li key={ranked.path}>
                {visible(ranked.path)} <span className={classes.why}>{visible(ranked.sources.join(", "))}</span>
              </li>
            ))}
          </ol>
        </Section>
      )}
      {entry.ranges.length > 0 && (
        <Section title="Lines at the base commit">
          <ol className={classes.paths}>
            {entry.ranges.map((range) => (
              <li key={`${range.path}:${range.start}-${range.end}`}>
                {visible(range.path)}:{range.start}–{range.end}{" "}
                <span className={classes.why}>{visible(range.sources.join(", "))}</span>
              </li>
            ))}
          </ol>
        </Section>
      )}
    </>
  );
}

function Calls({
  title,
  calls,
}: {
  title: string;
  calls: readonly { name: string; args?: { [key: string]: unknown } }[];
}) {
  if (calls.length === 0) return null;
  return (
    <Section title={title}>
      <div style={{ display: "grid", gap: 12 }}>
        {calls.map((call, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same call may be made twice
          <TextBlock key={index} label={call.name} text={JSON.stringify(call.args)} />
        ))}
      </div>
    </Section>
  );
}

/** Every change of a case, newest first: who, when, why, and each field before and after. */
function CaseHistory({ dataset, caseId }: { dataset: string; caseId: string }) {
  const history = useHistory(dataset, caseId);
  if (history.isPending) return <Loading what="history" rows={2} />;
  if (history.isLoadingError) return <Failed error={history.error} retry={() => void history.refetch()} />;
  return (
    <ol className={classes.history}>
      {[...history.data].reverse().map((revision) => (
        <li key={revision.version} className={classes.revision}>
          <div>
            <strong>{revision.action}</strong> by {revision.who} · {moment(revision.created_at)}
          </div>
          {revision.why && <div className={classes.change}>{revision.why}</div>}
          <Changes changes={revision.changes} />
        </li>
      ))}
    </ol>
  );
}

function Changes({ changes }: { changes: Revision["changes"] }) {
  return Object.entries(changes).map(([field, change]) => {
    const { old: before, new: after } = change as { old?: unknown; new?: unknown };
    return (
      <div key={field} className={classes.change}>
        {field}: {before !== undefined && before !== null && <span className={classes.before}>{brief(before)}</span>}{" "}
        {brief(after)}
      </div>
    );
  });
}

function brief(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text && text.length > 240 ? `${text.slice(0, 240)}…` : (text ?? "nothing");
}
