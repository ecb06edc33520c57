/** The frame around every page: a rail on a desk, a bar at the bottom on a phone. */
import { type MantineColorScheme, useMantineColorScheme } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { useCaller } from "@/api/access";
import { ASK_AGAIN_MS, askAgain, useReach } from "@/api/client";
import {
  AutoIcon,
  BenchmarksIcon,
  CasesIcon,
  DatasetsIcon,
  HelpIcon,
  KeyboardIcon,
  Mark,
  MoonIcon,
  OverviewIcon,
  ReviewIcon,
  SettingsIcon,
  SunIcon,
  TracesIcon,
} from "@/ui/icons";
import { KeyHelp, useShortcuts } from "@/ui/shortcuts";
import classes from "./Shell.module.css";

export function Shell() {
  const [helpOpened, help] = useDisclosure(false);
  useFocusAfterLeaving();
  const navigate = useNavigate();
  useShortcuts("Everywhere", [
    ...PLACES.map(({ to, label, key }) => ({
      keys: `g ${key}`,
      does: `Go to ${label}`,
      run: () => void navigate({ to }),
    })),
    { keys: "?", does: "Show these keys", run: help.open },
  ]);

  return (
    <div className={classes.shell}>
      <a className={classes.skip} href="#main">
        Skip to the page
      </a>
      <aside className={classes.rail}>
        <Brand />
        <Places />
        <div className={classes.foot}>
          <SignedIn />
          <Help />
          <button type="button" className={classes.tool} aria-label="Keys" onClick={help.open}>
            <KeyboardIcon />
            <span>Keys</span>
            <kbd className={classes.hint}>?</kbd>
          </button>
          <ColorSchemeToggle className={classes.tool} />
        </div>
      </aside>
      <main id="main" className={classes.main} tabIndex={-1}>
        <Unreachable />
        <Outlet />
        {/* Where Mantine puts menus, lists and dialogs: inside a landmark, so that a screen reader finds them by it. */}
        <div data-mantine-shared-portal-node />
      </main>
      <KeyHelp opened={helpOpened} onClose={help.close} />
    </div>
  );
}

/** Who leaves a page by a control that goes with it stands on the next page, and not at the beginning again. */
function useFocusAfterLeaving() {
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const before = useRef(path);
  useEffect(() => {
    const first = before.current === undefined;
    before.current = path;
    if (first) return;
    const frame = requestAnimationFrame(() => {
      if (document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
    });
    return () => cancelAnimationFrame(frame);
  }, [path]);
}

function Brand() {
  return (
    <Link to="/" className={classes.brand} aria-label="Evergold, overview">
      <Mark />
      <span className={classes.word}>Evergold</span>
    </Link>
  );
}

function Places() {
  return (
    <nav className={classes.places} aria-label="Main">
      {PLACES.map(({ to, label, Icon }) => (
        <Link
          key={to}
          to={to}
          className={classes.place}
          activeProps={{ className: classes.here }}
          activeOptions={{ exact: to === "/", includeSearch: false }}
        >
          <Icon />
          <span>{label}</span>
        </Link>
      ))}
    </nav>
  );
}

/** The places of the app, in the order of the loop: what came in, what it became, who checked it, what is measured; settings. */
const PLACES = [
  { to: "/", label: "Overview", key: "o", Icon: OverviewIcon },
  { to: "/traces", label: "Traces", key: "t", Icon: TracesIcon },
  { to: "/cases", label: "Cases", key: "c", Icon: CasesIcon },
  { to: "/review", label: "Review", key: "r", Icon: ReviewIcon },
  { to: "/datasets", label: "Datasets", key: "d", Icon: DatasetsIcon },
  { to: "/benchmarks", label: "Benchmarks", key: "b", Icon: BenchmarksIcon },
  { to: "/settings", label: "Settings", key: "s", Icon: SettingsIcon },
] as const;

/** The page of the documentation about a page of the app; the first that its address begins with. */
const HELP = [
  ["/rules", "live.html#rules-in-the-browser"],
  ["/topics", "live.html#what-the-set-lacks"],
  ["/traces", "web.html#traces"],
  ["/cases", "web.html#cases"],
  ["/review", "review.html"],
  ["/dev/evaldata", "review.html#validate-files"],
  ["/datasets", "builds.html"],
  ["/benchmarks/compare", "benchmarks.html#comparing"],
  ["/benchmarks", "benchmarks.html"],
  ["/replay", "replay.html"],
  ["/settings", "operate.html#alerts"],
  ["/", "web.html#overview"],
] as const;

function Help() {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const page = HELP.find(([start]) => path.startsWith(start))?.[1];
  return (
    <a className={classes.tool} href={`/docs/${page}`} target="_blank" rel="noreferrer" aria-label="Help for this page">
      <HelpIcon />
      <span>Help</span>
    </a>
  );
}

const MAY: Record<string, string> = {
  owner: "may do everything",
  editor: "may do everything but tokens, erasure and settings",
  reviewer: "may read, decide and comment",
  ingest: "may only send data",
  reader: "may read",
};

/** Name and role behind the token; nothing on a server without tokens, where everybody may do everything. */
function SignedIn() {
  const { data } = useCaller();
  if (!data?.name) return null;
  return (
    <p className={classes.who} title={`The role ${data.role} ${MAY[data.role]}`}>
      {data.name === data.role ? data.role : `${data.name} · ${data.role}`}
    </p>
  );
}

/**
 * A line on every page while the server does not answer: what is shown is what was read last, and what is typed stays. The
 * server is asked until it answers; then everything is read again.
 */
function Unreachable() {
  const reached = useReach();
  const client = useQueryClient();
  useEffect(() => {
    if (reached) return;
    const timer = setInterval(() => void askAgain(), ASK_AGAIN_MS);
    return () => {
      clearInterval(timer);
      void client.invalidateQueries();
    };
  }, [reached, client]);
  return (
    <div role="status" className={classes.unreachable} hidden={reached}>
      {!reached && "No connection to the server. What you typed stays; the page goes on by itself when it is back."}
    </div>
  );
}

const NEXT: Record<MantineColorScheme, MantineColorScheme> = { auto: "light", light: "dark", dark: "auto" };
const LABEL: Record<MantineColorScheme, string> = { auto: "System", light: "Light", dark: "Dark" };
const ICON = { auto: AutoIcon, light: SunIcon, dark: MoonIcon };

/** Light, dark, or as the system says; one button walks through the three. */
function ColorSchemeToggle({ className }: { className?: string }) {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const Icon = ICON[colorScheme];
  return (
    <button
      type="button"
      className={className}
      onClick={() => setColorScheme(NEXT[colorScheme])}
      aria-label={`Colours: ${LABEL[colorScheme]}. Change to ${LABEL[NEXT[colorScheme]]}`}
    >
      <Icon />
      <span>{LABEL[colorScheme]}</span>
    </button>
  );
}
