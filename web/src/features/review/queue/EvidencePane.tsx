/** The evidence of a stored case, by kind: conversation, spans and scores; contexts; or diff, tool calls and files. */
import { Tabs } from "@mantine/core";
import { SimulatedUser } from "@/features/replay/SimulatedUser";
import { CaseReplays } from "@/features/replay/Trajectories";
import { Scores } from "@/features/traces/Scores";
import { Waterfall } from "@/features/traces/Waterfall";
import { Messages } from "@/ui/Messages";
import { Failed, Loading } from "@/ui/states";
import { visible } from "@/ui/text";
import { EvidencePanel } from "../evidence/EvidencePanel";
import evidenceClasses from "../evidence/evidence.module.css";
import type { Evidence } from "../evidence/rowEvidence";
import type { Entry } from "../validator/rows";
import { contextDispatch } from "./ContextPanel";
import { contentOf } from "./contextCase";
import { type Case, type Changes, useCaseEvidence } from "./data";
import { Contexts } from "./Passages";
import sheet from "./passages.module.css";

type EvidencePaneProps = { entry: Case; lit: number | null; shown: Entry | null; onEdit: (changes: Changes) => void };

export function EvidencePane({ entry, lit, shown, onEdit }: EvidencePaneProps) {
  const evidence = useCaseEvidence({ dataset: entry.dataset, id: entry.id });
  if (entry.kind === "context") {
    return (
      <EvidencePanel
        content={contentOf(entry)}
        evidence={evidence}
        shown={shown}
        dispatch={contextDispatch(entry, onEdit)}
      />
    );
  }
  const passages = entry.kind === "qa" || entry.kind === "summary" || entry.contexts.length > 0;
  return (
    <aside className={evidenceClasses.panel} aria-label="Evidence">
      <SimulatedUser key={`${entry.dataset}/${entry.id}`} entry={entry} />
      <CaseReplays dataset={entry.dataset} caseId={entry.id} />
      {passages && <Contexts entry={entry} lit={lit} />}
      {entry.kind === "task" && <ExpectedTools entry={entry} />}
      {evidence.isPending && <Loading what="evidence" />}
      {evidence.isError && <Failed error={evidence.error} />}
      {evidence.data?.trace ? (
        <TraceEvidence evidence={evidence.data} entry={entry} />
      ) : (
        entry.kind === "chat" && <p className={evidenceClasses.none}>{evidence.data?.missing}</p>
      )}
    </aside>
  );
}

function TraceEvidence({ evidence, entry }: { evidence: Evidence; entry: Case }) {
  const { trace, conversation } = evidence;
  if (!trace) return null;
  const turns = conversation.length > 0 ? conversation : [trace];
  return (
    <Tabs defaultValue="talk" keepMounted={false}>
      <Tabs.List>
        <Tabs.Tab value="talk">Conversation ({turns.length})</Tabs.Tab>
        <Tabs.Tab value="spans">Steps ({trace.spans.length})</Tabs.Tab>
        <Tabs.Tab value="scores">Scores ({trace.scores.length})</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="talk">
        <ol className={sheet.talk}>
          {turns.map((turn) => (
            <li key={turn.id} data-this={turn.id === trace.id || undefined}>
              <p dir="auto">{visible(turn.input)}</p>
              {turn.id === trace.id && entry.tool_calls.length > 0 ? (
                <Messages messages={entry.turn} />
              ) : (
                <p dir="auto">{visible(turn.output ?? "no answer")}</p>
              )}
            </li>
          ))}
        </ol>
      </Tabs.Panel>
      <Tabs.Panel value="spans">
        <Waterfall spans={trace.spans} />
      </Tabs.Panel>
      <Tabs.Panel value="scores" p="sm">
        <Scores traceId={trace.id} scores={trace.scores} />
      </Tabs.Panel>
    </Tabs>
  );
}

function ExpectedTools({ entry }: { entry: Case }) {
  const expected = entry.expected_tools ?? null;
  if (expected === null) return <p className={evidenceClasses.none}>Nothing is said about tool calls.</p>;
  if (expected.length === 0) return <p className={evidenceClasses.none}>No tool call is expected.</p>;
  return (
    <ol className={evidenceClasses.calls}>
      {expected.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same call may be expected twice
        <li key={index}>
          <code>{call.name}</code> <span className={evidenceClasses.arguments}>{JSON.stringify(call.args)}</span>
        </li>
      ))}
    </ol>
  );
}
