/** What people ask: a map of the topics, how much of the traffic golden cases cover, and a table in which people decide. */
import { Button, NumberInput, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Fragment, useState } from "react";
import { useMay } from "@/api/access";
import { count, plural } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Empty, Failed, Loading } from "@/ui/states";
import { visible } from "@/ui/text";
import {
  type Change,
  type Topic,
  useChangeTopic,
  useFillReview,
  useMembers,
  useTopicCoverage,
  useTopicMap,
  useTopics,
} from "./data";
import classes from "./topics.module.css";

const FILL = 20;
const percent = (value: number) => `${(100 * value).toFixed(0)} %`;

export function TopicsPage() {
  const seen = useTopics();
  const [chosen, choose] = useState<number | null>(null);
  return (
    <Page
      title="Topics"
      lead="What traces and cases ask, grouped on this machine. What people rename, merge or split stays."
    >
      {seen.isPending ? (
        <Loading what="topics" />
      ) : !seen.data ? (
        <Failed error={seen.error} retry={() => void seen.refetch()} />
      ) : seen.data.length === 0 ? (
        <Empty title="No topics yet" action={<Link to="/traces">Traces that came in</Link>}>
          They are learnt from thirty different questions, of traces and of cases. Fewer came in so far.
        </Empty>
      ) : (
        <div className={classes.grid}>
          <Panel title="Map" aside="like questions lie near each other">
            <TopicMap topics={seen.data} chosen={chosen} choose={choose} />
          </Panel>
          <CoveragePanel />
          <div className={classes.wide}>
            <Panel title={plural(seen.data.length, "topic")}>
              <TopicTable topics={seen.data} chosen={chosen} choose={choose} />
            </Panel>
          </div>
        </div>
      )}
    </Page>
  );
}

const NAMED = 12; // of the largest topics

type Chosen = { topics: Topic[]; chosen: number | null; choose: (topic: number | null) => void };

/** A circle for each topic, as large as its traffic; full where it is covered. The table below says the same in words. */
function TopicMap({ topics, chosen, choose }: Chosen) {
  const map = useTopicMap();
  if (map.isPending) return <Loading what="map" rows={4} />;
  if (!map.data) return <Failed error={map.error} retry={() => void map.refetch()} />;
  const most = Math.max(1, ...topics.map((topic) => topic.traces));
  const at = new Map(map.data.map((point) => [point.id, point]));
  return (
    <svg viewBox="0 0 1000 620" className={classes.map} role="img" aria-label="Map of the topics">
      {topics.map((topic, rank) => {
        const point = at.get(topic.id);
        if (!point) return null;
        const [x, y] = [40 + 920 * point.x, 40 + 540 * point.y];
        const radius = 8 + 32 * Math.sqrt(topic.traces / most);
        return (
          <Fragment key={topic.id}>
            {/* biome-ignore lint/a11y/noStaticElementInteractions: the table below does the same by keyboard */}
            <circle
              cx={x}
              cy={y}
              r={radius}
              className={topic.covered ? classes.covered : classes.open}
              data-chosen={topic.id === chosen}
              onClick={() => choose(topic.id)}
            >
              <title>{`${topic.name}: ${plural(topic.traces, "trace")}, ${count(topic.golden)} golden`}</title>
            </circle>
            {(rank < NAMED || topic.id === chosen) && (
              <text
                x={x + (x < 500 ? radius + 8 : -radius - 8)}
                y={y + 8}
                textAnchor={x < 500 ? "start" : "end"}
                className={classes.label}
              >
                {visible(topic.name)}
              </text>
            )}
          </Fragment>
        );
      })}
    </svg>
  );
}

function CoveragePanel() {
  const seen = useTopicCoverage();
  const fill = useFillReview();
  const mayReview = useMay("reviewer");
  if (seen.isPending) return <Loading what="coverage" rows={4} />;
  if (!seen.data) return <Failed error={seen.error} retry={() => void seen.refetch()} />;
  const { share, low, high, drift, gaps, distance } = seen.data;
  return (
    <Panel title="Coverage of the last 28 days">
      {share !== null && (
        <p className={classes.figure}>
          {percent(share)} <span className="eg-dim">of the traffic is in topics with three golden cases</span>
        </p>
      )}
      <p className={classes.calm}>
        {low !== null && high !== null && `Between ${percent(low)} and ${percent(high)}. `}
        {drift.value === null
          ? "Too little traffic to say whether it changed."
          : drift.alarm
            ? "People ask other things than in the four weeks before."
            : "People ask what they asked in the four weeks before."}
        {distance !== null && ` Distance of the golden cases from the traffic: ${distance.toFixed(2)} of 1.`}
      </p>
      <ol className={classes.gaps}>
        {gaps.slice(0, 6).map((gap) => (
          <li key={gap.topic}>
            <strong>{visible(gap.name)}</strong> <span className="eg-dim">{gap.why}</span>
          </li>
        ))}
      </ol>
      {gaps.length > 0 && mayReview && (
        <Button variant="default" size="compact-sm" loading={fill.isPending} onClick={() => fill.mutate(FILL)}>
          Queue {FILL} cases of the gaps
        </Button>
      )}
      {fill.data && (
        <p className={classes.calm} role="status">
          {plural(fill.data.length, "case")} wait.{" "}
          <Link to="/review" search={{ dataset: "gaps" }}>
            Review them
          </Link>
        </p>
      )}
      {fill.error && <Failed error={fill.error} />}
    </Panel>
  );
}

function TopicTable({ topics, chosen, choose }: Chosen) {
  return (
    <div className={classes.scroll}>
      <table className={classes.table}>
        <thead>
          <tr>
            {["Topic", "Traces", "Failures", "Golden", "Candidates", "Covered"].map((name) => (
              <th key={name}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {topics.map((topic) => (
            <tr key={topic.id} data-chosen={topic.id === chosen}>
              <th scope="row">
                <button
                  type="button"
                  className={classes.name}
                  aria-expanded={topic.id === chosen}
                  onClick={() => choose(topic.id === chosen ? null : topic.id)}
                >
                  {visible(topic.name)}
                </button>
                {topic.id === chosen && <Decide topic={topic} />}
              </th>
              <td>{count(topic.traces)}</td>
              <td>{count(topic.failures)}</td>
              <td>{count(topic.golden)}</td>
              <td>{count(topic.candidates)}</td>
              <td>{topic.covered ? "yes" : "no"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The newest traces of a topic, and what a reviewer may make of it. */
function Decide({ topic }: { topic: Topic }) {
  const members = useMembers(topic.id);
  const change = useChangeTopic();
  const mayReview = useMay("reviewer");
  const [name, setName] = useState(topic.name);
  const [other, setOther] = useState<number | string>("");
  const send = (wanted: Partial<Change>) =>
    change.mutate({ topic: topic.id, change: { name: null, merge: [], split: null, ...wanted } });
  return (
    <div className={classes.decide}>
      <p className={classes.calm}>
        Topic {topic.id}, newest traces:{" "}
        {members.data?.slice(0, 5).map((traceId) => (
          <span key={traceId}>
            <Link to="/traces/$traceId" params={{ traceId }} search={{}}>
              {visible(traceId)}
            </Link>{" "}
          </span>
        ))}
      </p>
      {mayReview && (
        <div className={classes.row}>
          <TextInput aria-label="Name" size="xs" value={name} onChange={(event) => setName(event.target.value)} />
          <Button size="compact-xs" variant="default" disabled={!name.trim()} onClick={() => send({ name })}>
            Rename
          </Button>
          <NumberInput
            aria-label="Topic to take in"
            placeholder="topic"
            size="xs"
            w={80}
            min={1}
            value={other}
            onChange={setOther}
          />
          <Button
            size="compact-xs"
            variant="default"
            disabled={typeof other !== "number"}
            onClick={() => send({ merge: [Number(other)] })}
          >
            Take it in
          </Button>
          <Button size="compact-xs" variant="default" onClick={() => send({ split: 2 })}>
            Split in two
          </Button>
        </div>
      )}
      {change.error && <Failed error={change.error} />}
    </div>
  );
}
