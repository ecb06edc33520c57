import { Page } from "@/ui/Page";
import { Empty } from "@/ui/states";

export function OverviewPage() {
  return (
    <Page title="Overview" lead="What came in and what it became.">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
