/** What is shown for an address that leads nowhere, and for a page that broke. The navigation stays usable in both cases. */
import { Anchor, Button, Code } from "@mantine/core";
import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { Empty } from "@/ui/states";

export function Lost() {
  return (
    <Empty
      level={1}
      title="There is no page here"
      action={
        <Anchor component={Link} to="/">
          Go to the overview
        </Anchor>
      }
    >
      The address may be mistyped, or what it named was deleted.
    </Empty>
  );
}

export function Crashed({ error, reset }: ErrorComponentProps) {
  return (
    <Empty level={1} title="This page broke" action={<Button onClick={reset}>Show it again</Button>}>
      <p>Your data is not affected. If it happens again, this line helps whoever looks into it:</p>
      <Code block>{error instanceof Error ? error.message : String(error)}</Code>
    </Empty>
  );
}
