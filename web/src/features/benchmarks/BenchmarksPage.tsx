import { Page } from "@/ui/Page";
import { Empty } from "@/ui/states";

export function BenchmarksPage() {
  return (
    <Page title="Benchmarks" lead="Runs one can believe.">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
