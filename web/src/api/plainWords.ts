/** The server's messages are the same on the command line; what they advise to type there is no help in a page. */

const COMMAND = /`evergold |(^|[\s:(])evergold [a-z]+/;

export function withoutCommands(message: string): string {
  const kept = message.split(/;\s+/).filter((clause) => !COMMAND.test(clause));
  return kept.length > 0 ? kept.join("; ") : message;
}
