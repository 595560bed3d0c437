/** Spend, requests, errors, latency and tokens over time, by one or two dimensions, with the requests behind every figure. */
import { useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { Chart } from "../parts/chart.tsx";
import { CheckField, SelectField } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { sessionsAddress } from "../requests/address.ts";
import { type Explorer, type View, activeFilters, explorerTabs, noFilters, tabOf, useExplorer } from "./address.ts";
import { ColumnChoice } from "./columns.tsx";
import { type ViewSums, cumulated, drawingOf, loadSums } from "./data.ts";
import { DimensionField } from "./dimension-field.tsx";
import { dimensionTitle, dimensionsOf } from "./dimensions.ts";
import { SetAlert } from "../alerts/form.tsx";
import { WhatChanged } from "./changed.tsx";
import { Export } from "./export.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { RequestList } from "./list.tsx";
import { type Measure, drawnMeasure, figuresOf } from "./measures.ts";
import { type ValueNames, totalName, useValueNames } from "./names.ts";
import { SavedViews } from "./saved.tsx";
import { toAddressTime } from "./time.ts";
import { Totals } from "./totals.tsx";

export function ExplorerPage() {
  const explorer = useExplorer();
  const { view } = explorer;
  const names = useValueNames();
  const sumsOf = JSON.stringify({
    ...view,
    tab: "",
    cursor: "",
    show: "",
    sort: "",
    columns: "",
    measure: "",
    q: "",
    fallback: "",
    by: dimensionsOf(view),
  });
  const [refreshes, setRefreshes] = useState(0);
  const sums = useLoad(() => loadSums(view), [sumsOf, refreshes]);
  const listed = isListed(explorer);
  const refresh = (
    <>
      <button type="button" class="button" disabled={sums.loading} onClick={() => setRefreshes(refreshes + 1)}>
        <Icon name="refresh" /> Refresh
      </button>
      <SavedViews view={view} />
      <SetAlert view={view} />
      <Export explorer={explorer} sums={sums.data} names={names} listed={listed} />
    </>
  );
  return (
    <Page
      title="Explorer"
      lead="What is spent, asked and answered, and what fails. All times are UTC."
      actions={refresh}
    >
      <FilterBar explorer={explorer} names={names} />
      <Tabs explorer={explorer} />
      <Show of={sums} lines={8}>
        {(data) => (
          <>
            <Drawn explorer={explorer} sums={data} names={names} />
            {tabOf(view) === "spend" && <WhatChanged explorer={explorer} refreshes={refreshes} />}
            <Card flush>
              <Shown explorer={explorer} listed={listed} />
              <ColumnChoice explorer={explorer} listed={listed} />
              {listed ? (
                <RequestList explorer={explorer} whole={data.whole} refreshes={refreshes} />
              ) : data.totals.length === 0 ? (
                <Nothing explorer={explorer} />
              ) : (
                <Totals explorer={explorer} sums={data} names={names} />
              )}
            </Card>
          </>
        )}
      </Show>
    </Page>
  );
}

/** Whether the requests are listed below the chart, instead of the sums. A search shows requests. */
function isListed({ view }: Explorer): boolean {
  if (view.show !== "") return view.show === "list";
  return tabOf(view) === "requests" || narrowsList(view);
}

/** Whether a filter applies only to the list of requests: sums cannot be restricted by a search or by fallbacks. */
const narrowsList = ({ q, fallback }: View): boolean => q !== "" || fallback !== "";

const Tabs = ({ explorer: { view, addressWith } }: { explorer: Explorer }) => (
  <nav class="tab-links" aria-label="Figures">
    {explorerTabs.map(([tab, name]) => (
      <a
        key={tab}
        href={addressWith({ tab, measure: "", sort: "", show: "", columns: "" })}
        aria-current={tabOf(view) === tab ? "page" : undefined}
      >
        {name}
      </a>
    ))}
  </nav>
);

const Shown = ({ explorer: { view, addressWith }, listed }: { explorer: Explorer; listed: boolean }) => (
  <nav class="tab-links inner" aria-label="Below the chart">
    <a href={addressWith({ show: "sums", columns: "" })} aria-current={listed ? undefined : "page"}>
      By{" "}
      {dimensionsOf(view)
        .map((dimension) => dimensionTitle(dimension).toLowerCase())
        .join(" and ")}
    </a>
    <a href={addressWith({ show: "list", columns: "" })} aria-current={listed ? "page" : undefined}>
      List of requests
    </a>
    {view.tags !== "" && <a href={sessionsAddress({ tags: view.tags })}>Sessions with these tags</a>}
  </nav>
);

const Nothing = ({ explorer: { view, change } }: { explorer: Explorer }) => {
  const isFiltered = activeFilters(view).length > 0;
  return (
    <Empty title={isFiltered ? "No requests match these filters in this period" : "No requests in this period"}>
      {isFiltered ? (
        <button type="button" class="button" onClick={() => change(noFilters)}>
          Clear filters
        </button>
      ) : (
        <a class="button" href="/console/playground">
          Send a request in the playground
        </a>
      )}
    </Empty>
  );
};

interface DrawnProps {
  readonly explorer: Explorer;
  readonly sums: ViewSums;
  readonly names: ValueNames;
}

function Drawn({ explorer, sums, names }: DrawnProps) {
  const { view, change } = explorer;
  const measure = drawnMeasure(tabOf(view), view.measure);
  const by = dimensionsOf(view);
  const { series, previous } = drawingOf(sums, measure, (total) => totalName(total, by, names));
  const isCumulative = measure.adds && view.cumulative !== "";
  const earlier = view.previous === "off" ? undefined : previous;
  const unit = by.map((dimension) => dimensionTitle(dimension).toLowerCase()).join(" and ");
  return (
    <Card>
      <Drawing explorer={explorer} measure={measure} />
      <Chart
        title={`${measure.title} by ${unit} and ${sums.range.step}`}
        range={sums.range}
        kind={measure.adds ? (isCumulative ? "area" : "bars") : "lines"}
        series={isCumulative ? series.map(({ name, values }) => ({ name, values: cumulated(values) })) : series}
        previous={earlier && isCumulative ? cumulated(earlier) : earlier}
        format={measure.format}
        onSelect={(from, to) => change({ last: "", from: toAddressTime(from), to: toAddressTime(to), step: "" })}
      />
      {narrowsList(view) && (
        <p class="hint">
          The chart counts every request of the other filters: a search, and fallbacks, narrow the list below it.
        </p>
      )}
    </Card>
  );
}

function Drawing({ explorer: { view, change }, measure }: { explorer: Explorer; measure: Measure }) {
  const [first = "", second = ""] = dimensionsOf(view);
  const { drawn } = figuresOf[tabOf(view)];
  return (
    <div class="toolbar">
      {drawn.length > 1 && (
        <SelectField
          label="Figure"
          value={measure.id}
          onValue={(id) => change({ measure: id })}
          options={drawn.map(({ id, title }) => [id, title])}
        />
      )}
      <DimensionField label="Group by" value={first} onValue={(by) => change({ by })} options={[]} />
      <DimensionField
        label="Split by"
        value={second}
        onValue={(split) => change({ split })}
        options={[["", "Nothing"]]}
        without={first}
      />
      {measure.adds && (
        <>
          <CheckField
            label="Cumulative"
            checked={view.cumulative !== ""}
            onChecked={(checked) => change({ cumulative: checked ? "1" : "" })}
          />
          <CheckField
            label="Previous period"
            checked={view.previous !== "off"}
            onChecked={(checked) => change({ previous: checked ? "" : "off" })}
          />
        </>
      )}
    </div>
  );
}
