/** The queue: every kind of case that waits for a person, one desk, keys for everything. */
import { Anchor, Button, TextInput } from "@mantine/core";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useMe } from "@/api/access";
import type { Schemas } from "@/api/client";
import { saveReviewerName } from "@/api/token";
import { Beginning } from "@/ui/Beginning";
import { HeldKeys, keyed, useShortcuts } from "@/ui/shortcuts";
import { Empty, Failed, Loading } from "@/ui/states";
import { Desk, type DeskTab, useEscapeFromFields } from "../desk";
import desk from "../desk.module.css";
import {
  claimNext,
  type Key,
  type QueueItem,
  useCaseFile,
  useIsLoaded,
  usePreload,
  useProgress,
  useQueue,
  useRefresh,
} from "./data";
import { type Decided, titleOf, useUndo } from "./drafts";
import { ProgressView } from "./ProgressView";
import { ASSIGN_FIELD, BulkBar, nameOf, QueueFilters, QueueList } from "./QueueSidebar";
import classes from "./queue.module.css";
import { filtersOf, type QueueView } from "./view";

/** The desk is large: the queue is there before it. */
const loadDesk = () => import("./CaseDesk").then(({ CaseDesk }) => ({ default: CaseDesk }));
const CaseDesk = lazy(loadDesk);

/** As many cases are loaded before they are needed: keys may come faster than the server answers. */
const AHEAD = 4;

type Refused = Key & { title: string; reason: string };

export function ReviewPage() {
  const view: QueueView = useSearch({ from: "/review" });
  const navigate = useNavigate({ from: "/review" });
  const filters = useMemo(() => filtersOf(view), [view]);
  const queue = useQueue(filters);
  const refresh = useRefresh();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [notice, setNotice] = useState<string | null>(null);
  const [tab, setTab] = useState<DeskTab>("case");
  const [sending, setSending] = useState<ReadonlySet<string>>(new Set());
  const [refused, setRefused] = useState<readonly Refused[]>([]);
  const me = useMe();

  const items = useMemo(() => (queue.data?.pages ?? []).flatMap((page) => page.items), [queue.data]);
  const total = queue.data?.pages[0]?.total ?? 0;
  const counts = queue.data?.pages[0]?.counts ?? {};
  const current: Key | null = view.dataset && view.id ? { dataset: view.dataset, id: view.id } : null;
  const file = useCaseFile(current);
  const empty = queue.data !== undefined && total === 0;

  useEffect(() => {
    document.title = "Review · Evergold";
    void loadDesk();
  }, []);

  const setView = (next: QueueView) => void navigate({ search: next, replace: true });
  const select = useCallback(
    (item: Key | undefined) => {
      if (item === undefined) return Promise.resolve();
      setTab("case");
      return navigate({
        search: (old: QueueView) => ({ ...old, dataset: item.dataset, id: item.id, show: undefined }),
        replace: true,
      });
    },
    [navigate],
  );
  /** Decided in this sitting, which the list may not say yet; in the order of value also what was passed over. */
  const done = useRef(new Set<string>());
  const undo = useUndo(me.data?.name ?? "", (key) => {
    done.current.delete(nameOf(key));
    return select(key);
  });
  const at = current === null ? -1 : items.findIndex((item) => nameOf(item) === nameOf(current));
  // Another view has other cases: an open one that is not in it is closed, whose buttons would act on it unseen.
  const narrowing = JSON.stringify(filters);
  const narrowed = useRef(narrowing);
  useEffect(() => {
    if (narrowed.current === narrowing || !queue.isSuccess || queue.isFetching) return;
    narrowed.current = narrowing;
    if (current && at < 0 && !queue.hasNextPage) setView({ ...view, dataset: undefined, id: undefined });
  });
  const step = (by: 1 | -1) => void select(items[Math.max(0, Math.min(items.length - 1, at + by))]);
  const waiting = (item: QueueItem) =>
    item.review !== "validated" && item.status === "active" && !done.current.has(nameOf(item));
  const byValue = view.order === "value";
  // By value each verdict changes the list: what comes next is its first case, not the one after this.
  const rest = byValue
    ? items.filter((_, place) => place !== at)
    : [...items.slice(at + 1), ...items.slice(0, Math.max(0, at))];
  const coming = rest.filter(waiting).slice(0, AHEAD);
  const [next] = coming;
  const isLoaded = useIsLoaded();
  usePreload(file.data ? coming : []);

  /** Opens the next case that waits; says whether there is one. */
  async function nextWaiting(): Promise<boolean> {
    if (byValue && current) done.current.add(nameOf(current));
    setNotice(next === undefined ? "Nothing else waits in this view." : null);
    await select(next);
    return next !== undefined;
  }

  /** Opens the next case at once; a verdict that the server refuses is named, with the way back to its case. */
  function onDecided(decision: Decided) {
    const { dataset, id } = decision.before.case;
    const name = nameOf({ dataset, id });
    undo.add(decision);
    setRefused((all) => all.filter((one) => nameOf(one) !== name));
    if (["approve", "dismiss"].includes(decision.decision.verdict)) done.current.add(name);
    setSending((all) => new Set(all).add(name));
    const settle = () => setSending((all) => new Set([...all].filter((one) => one !== name)));
    decision.after.then(settle, (fault) => {
      settle();
      done.current.delete(name);
      undo.drop(decision);
      const reason = fault instanceof Error ? fault.message : String(fault);
      setRefused((all) => [...all, { dataset, id, title: titleOf(decision.before.case), reason }]);
    });
    return nextWaiting();
  }

  async function claim() {
    try {
      const taken = await claimNext(filters);
      setNotice(taken ? null : "Nothing is left for you in this view.");
      if (taken) await select(taken.case);
    } catch (error) {
      setNotice(error instanceof Error ? error.message : String(error));
    }
    await refresh();
  }

  function choose(item: QueueItem) {
    const next = new Set(chosen);
    if (!next.delete(nameOf(item))) next.add(nameOf(item));
    setChosen(next);
  }

  function assignTo(item: QueueItem) {
    if (!chosen.has(nameOf(item))) choose(item);
    requestAnimationFrame(() => document.getElementById(ASSIGN_FIELD)?.focus());
  }
  const toggleDisputed = () =>
    setView({ ...view, standing: view.standing === "disputed" ? undefined : "disputed", show: undefined });
  const toggleProgress = () => setView({ ...view, show: view.show ? undefined : "progress" });

  useShortcuts("Queue", [
    { keys: "j", does: "Next case", run: () => step(1) },
    { keys: "k", does: "Previous case", run: () => step(-1) },
    { keys: "n", does: "Next case that waits", run: () => void nextWaiting() },
    { keys: "c", does: "Claim the next case for me", run: () => void claim() },
    { keys: "x", does: "Choose this case for a bulk action", run: () => items[at] && choose(items[at] as QueueItem) },
    { keys: "i", does: "Assign this case", run: () => items[at] && assignTo(items[at] as QueueItem) },
    { keys: "z", does: "Undo the last verdict", run: () => void undo.undo() },
    { keys: "u", does: "Disputed cases", run: toggleDisputed },
    { keys: "p", does: "Progress", run: toggleProgress },
  ]);
  useEscapeFromFields();

  return (
    <div
      className={`${desk.page} ${classes.page}`}
      data-open={(current !== null && tab !== "list" && !view.show) || undefined}
    >
      <ReviewBar
        counts={queue.data ? { ...counts, total } : null}
        me={me.data}
        view={view}
        onMe={() => void me.refetch()}
        onClaim={() => void claim()}
        onDisputed={toggleDisputed}
        onProgress={toggleProgress}
      />
      {(notice || undo.message || undo.problem) && (
        <p className={desk.notice} role="status">
          {undo.problem ?? undo.message} {notice}
          {undo.message && (
            <Button size="compact-xs" variant="subtle" {...keyed("z")} onClick={() => void undo.undo()}>
              Undo
            </Button>
          )}
        </p>
      )}
      {refused.map((one) => (
        <p key={nameOf(one)} className={desk.notice} role="alert">
          Nothing was decided about “{one.title}”: {one.reason}
          <Button size="compact-xs" variant="subtle" onClick={() => void select(one)}>
            Open it
          </Button>
        </p>
      ))}
      {view.show === "progress" ? (
        <ProgressView />
      ) : (
        <Desk
          name="Queue"
          tab={current !== null ? tab : empty ? "both" : "list"}
          onTab={current === null ? undefined : setTab}
          list={
            <>
              <QueueFilters view={view} onView={setView} />
              <BulkBar items={items.filter((item) => chosen.has(nameOf(item)))} onDone={() => setChosen(new Set())} />
              {queue.isPending && <Awaited what="the queue" />}
              {queue.isError && <Failed error={queue.error} retry={() => void queue.refetch()} />}
              {empty && <p className={classes.none}>{view.standing === "disputed" ? "No disputed case" : "No case"}</p>}
              {queue.data && !empty && (
                <QueueList
                  items={items}
                  current={current}
                  chosen={chosen}
                  onSelect={(item) => void select(item)}
                  onChoose={choose}
                  onMore={() => void (queue.hasNextPage && !queue.isFetchingNextPage && queue.fetchNextPage())}
                />
              )}
            </>
          }
        >
          {current === null ? (
            <Start
              empty={empty}
              disputed={view.standing === "disputed"}
              loaded={queue.data !== undefined}
              onStart={() => void select(items.find(waiting) ?? items[0])}
            />
          ) : file.isPending || (sending.has(nameOf(current)) && next) ? (
            <Awaited what="the case" />
          ) : file.isLoadingError ? (
            <Failed error={file.error} retry={() => void file.refetch()} />
          ) : (
            <Suspense fallback={<Awaited what="the case" />}>
              <CaseDesk
                key={nameOf(current)}
                file={file.data}
                me={me.data?.name ?? ""}
                why={items[at]?.why}
                isNextLoaded={() => next !== undefined && isLoaded(next)}
                onDecided={onDecided}
                onSettled={nextWaiting}
              />
            </Suspense>
          )}
        </Desk>
      )}
    </div>
  );
}

/** What loads here is what the next keys are meant for. */
function Awaited({ what }: { what: string }) {
  return (
    <>
      <HeldKeys />
      <Loading what={what} />
    </>
  );
}

type StartProps = { empty: boolean; disputed: boolean; loaded: boolean; onStart: () => void };

function Start({ empty, disputed, loaded, onStart }: StartProps) {
  if (!empty) {
    const start = (
      <Button disabled={!loaded} onClick={onStart}>
        Start with the first
      </Button>
    );
    return (
      <Empty title="Pick a case" action={start}>
        Choose one from the list, or press <kbd>n</kbd> for the first that waits and <kbd>?</kbd> for all keys.
      </Empty>
    );
  }
  if (disputed) return <Empty title="Nothing to settle">Wherever two reviewers have decided, they agree.</Empty>;
  return (
    <Empty title="Nothing to review in this view">
      <p>Cases come here from curated traces, from files, and from the traces you send to review.</p>
      <Beginning of="cases" sample />
    </Empty>
  );
}

type ReviewBarProps = {
  counts: { [name: string]: number } | null;
  me: Schemas["Me"] | undefined;
  view: QueueView;
  onMe: () => void;
  onClaim: () => void;
  onDisputed: () => void;
  onProgress: () => void;
};

/** The head of the queue: counts, who reviews and how far today, and the parts of the page. */
function ReviewBar({ counts, me, view, onMe, onClaim, onDisputed, onProgress }: ReviewBarProps) {
  return (
    <header className={desk.bar}>
      <h1>Review</h1>
      <p className={desk.summary} role="status">
        {counts
          ? `${counts.waiting} waiting · ${counts.validated} validated · ${counts.disputed} disputed · ${counts.total} in view`
          : "Loading…"}
      </p>
      <div className={desk.tools}>
        <Today name={me?.name} />
        <WhoAmI name={me?.name} fixed={(me?.reviewers.length ?? 0) > 0} onChange={onMe} />
        <Button size="xs" variant="default" onClick={onClaim}>
          Claim next
        </Button>
        <Button size="xs" variant="default" onClick={onDisputed}>
          {view.standing === "disputed" ? "All cases" : "Disputed"}
        </Button>
        <Button size="xs" variant="default" onClick={onProgress}>
          {view.show ? "Queue" : "Progress"}
        </Button>
        <Anchor component={Link} to="/dev/evaldata" size="sm" c="var(--eg-accent)">
          Validate files
        </Anchor>
      </div>
    </header>
  );
}

/** How many cases I decided today, of the goal where there is one. */
function Today({ name }: { name: string | undefined }) {
  const { data } = useProgress();
  const mine = data?.reviewers.find(({ reviewer }) => reviewer === name)?.today ?? 0;
  if (!data || (mine === 0 && data.daily_goal === 0)) return null;
  return (
    <span className={classes.who}>{data.daily_goal > 0 ? `${mine} of ${data.daily_goal} today` : `${mine} today`}</span>
  );
}

function WhoAmI({ name, fixed, onChange }: { name: string | undefined; fixed: boolean; onChange: () => void }) {
  const [editing, setEditing] = useState(false);
  const [value, setValue] = useState("");
  if (fixed || !editing) {
    return (
      <button type="button" className={classes.who} disabled={fixed} onClick={() => setEditing(true)}>
        Reviewing as {name ?? "…"}
      </button>
    );
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        saveReviewerName(value);
        setEditing(false);
        onChange();
      }}
    >
      <TextInput
        size="xs"
        aria-label="Your name"
        placeholder="Your name"
        autoFocus
        value={value}
        onChange={(event) => setValue(event.currentTarget.value)}
      />
    </form>
  );
}
