import { Page } from "@/ui/Page";
import { Empty } from "@/ui/states";

export function ReviewPage() {
  return (
    <Page title="Review" lead="People make the data true.">
      <Empty title="Nothing here yet" />
    </Page>
  );
}
