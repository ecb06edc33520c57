import { Page } from "@/ui/Page";
import { Empty } from "@/ui/states";

export function DatasetsPage() {
  return (
    <Page title="Datasets" lead="Frozen versions of the data.">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
