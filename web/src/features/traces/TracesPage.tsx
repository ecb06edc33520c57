import { Page } from "@/ui/Page";
import { Empty } from "@/ui/states";

export function TracesPage() {
  return (
    <Page title="Traces" lead="Every interaction that was recorded.">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
