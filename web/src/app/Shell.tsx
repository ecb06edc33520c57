/** The frame around every page: a rail on a desk, a bar at the bottom on a phone. */
import { useDisclosure } from "@mantine/hooks";
import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { KeyboardIcon, Mark } from "@/ui/icons";
import { KeyHelp } from "@/ui/KeyHelp";
import { useShortcuts } from "@/ui/shortcuts";
import { ColorSchemeToggle } from "./ColorSchemeToggle";
import { PLACES } from "./navigation";
import classes from "./Shell.module.css";
import { SignedIn } from "./SignedIn";
import { Unreachable } from "./Unreachable";

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
