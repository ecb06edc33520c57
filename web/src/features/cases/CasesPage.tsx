import { Page } from "@/ui/Page";
import { Empty } from "@/ui/states";

export function CasesPage() {
  return (
    <Page title="Cases" lead="The units of evaluation data.">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
