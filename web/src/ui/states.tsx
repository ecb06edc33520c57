/** What a page shows when there is nothing to show yet: loading, empty, failed. Every list and panel uses these three. */
import { Button, CopyButton, Skeleton, Stack, Text, Title, VisuallyHidden } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { ApiError } from "@/api/client";
import { currentToken, requireToken } from "@/api/token";
import { CheckIcon, CopyIcon } from "./icons";
import classes from "./states.module.css";

const ROWS = ["92%", "78%", "85%", "64%", "88%", "71%", "80%", "58%"];

export function Loading({ what, rows = 6 }: { what: string; rows?: number }) {
  return (
    <Stack gap="sm" p="md" role="status" aria-busy="true">
      <VisuallyHidden>Loading {what}</VisuallyHidden>
      {ROWS.slice(0, rows).map((width) => (
        <Skeleton key={width} height={14} width={width} radius="sm" />
      ))}
    </Stack>
  );
}

type EmptyProps = { title: string; children?: ReactNode; action?: ReactNode; level?: 1 | 2 };

export function Empty({ title, children, action, level = 2 }: EmptyProps) {
  return (
    <div className={classes.state}>
      <Title order={level} size="h2">
        {title}
      </Title>
      {children && <div className={classes.text}>{children}</div>}
      {action}
    </div>
  );
}

export function Failed({ error, retry }: { error: unknown; retry?: () => void }) {
  const gone = error instanceof ApiError && error.status === 404;
  return (
    <div className={classes.state} role="alert">
      <Title order={2}>{gone ? "Not here" : "This could not be shown"}</Title>
      <Text className={classes.text}>{error instanceof Error ? error.message : String(error)}</Text>
      {retry && !gone && (
        <Button variant="default" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

type ListStateProps = {
  what: string;
  query: { isPending: boolean; isError: boolean; error: unknown; refetch: () => unknown };
  rows: readonly unknown[];
  empty: ReactNode;
  children: ReactNode;
};

/** A list, or what stands in its place. Rows that were read stay on the screen when a later read fails. */
export function ListState({ what, query, rows, empty, children }: ListStateProps) {
  if (query.isPending) return <Loading what={what} rows={8} />;
  if (query.isError && rows.length === 0) return <Failed error={query.error} retry={() => void query.refetch()} />;
  return rows.length === 0 ? empty : children;
}

/** A text to take somewhere else, with a button that copies it; `what` names it. */
export function CopyText({ what, children }: { what: string; children: string }) {
  return (
    <div className={classes.command}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long line scrolls, also by keyboard */}
      <pre className={classes.code} tabIndex={0}>
        {children}
      </pre>
      <CopyButton value={children}>
        {({ copied, copy }) => (
          <button type="button" className={classes.copy} onClick={copy} aria-label={copied ? "Copied" : `Copy ${what}`}>
            {copied ? <CheckIcon size={16} /> : <CopyIcon size={16} />}
          </button>
        )}
      </CopyButton>
    </div>
  );
}

type LinkProps = { href: string; onClick: (event: React.MouseEvent) => void };
type DownloadProps = { href: string; name: string; children: (link: LinkProps) => ReactNode };

/** A file of the server: a plain link, and a fetch where the server asks for a token, which only a fetch can send. */
export function Download({ href, name, children }: DownloadProps) {
  const [problem, setProblem] = useState<string | null>(null);
  const onClick = (event: React.MouseEvent) => {
    const token = currentToken();
    if (!token) return;
    event.preventDefault();
    save(href, name, token).then(setProblem, () => setProblem("The server does not answer."));
  };
  return (
    <>
      {children({ href, onClick })}
      {problem && <span role="alert">{problem}</span>}
    </>
  );
}

/** Saves a file under a name; gives what went wrong, or null. */
async function save(href: string, name: string, token: string): Promise<string | null> {
  const answer = await fetch(href, { headers: { Authorization: `Bearer ${token}` } });
  if (answer.status === 401) requireToken();
  if (!answer.ok) return `The server answered ${answer.status}.`;
  saveFile(name, await answer.blob());
  return null;
}

export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
