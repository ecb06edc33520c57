/** A file of the server: a plain link, and a fetch where the server asks for a token, which only a fetch can send. */
import { type ReactNode, useState } from "react";
import { currentToken, requireToken } from "@/api/token";

type LinkProps = { href: string; onClick: (event: React.MouseEvent) => void };
type DownloadProps = { href: string; name: string; children: (link: LinkProps) => ReactNode };

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
