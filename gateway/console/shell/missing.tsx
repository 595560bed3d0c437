/** The page for unknown addresses. */
import { Empty } from "../parts/state.tsx";
import { Card, Page } from "../parts/page.tsx";

export const Missing = () => (
  <Page title="Not found">
    <Card flush>
      <Empty title="There is no such page.">
        <a href="/console">To the overview</a>
      </Empty>
    </Card>
  </Page>
);
