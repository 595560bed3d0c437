/** A chart over time, by uPlot: bars, areas or lines, with axes, a legend that hides series, a tooltip by pointer, touch and keyboard, and a brush. */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../shell/theme.ts";
import { type TimeRange, nextStep, stepName, tickName } from "./time-steps.ts";

export interface ChartSeries {
  readonly name: string;
  /** The value of each step; null if unknown. */
  readonly values: readonly (number | null)[];
}

export interface ChartProps {
  /** A description of the chart for screen readers. */
  readonly title: string;
  readonly range: TimeRange;
  readonly series: readonly ChartSeries[];
  /** Kind of the chart. Bars and areas are stacked. */
  readonly kind: "bars" | "area" | "lines";
  /** Sums of the previous period, drawn as a dashed line. */
  readonly previous?: readonly number[] | undefined;
  readonly format: (value: number) => string;
  /** Called with the start and the end of a selected period, in milliseconds since 1970. */
  readonly onSelect?: (from: number, to: number) => void;
}

const height = 240;
const colors = 6;
const colorOf = (n: number): number => (n % colors) + 1;

export function Chart(props: ChartProps) {
  const { title, range, series, previous, format, onSelect } = props;
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState<number>();
  const [anchor, setAnchor] = useState<number>();
  const place = useRef<HTMLDivElement>(null);
  const plot = usePlot(place, props, hidden, setAt);
  const shown = series.map((each, n) => ({ ...each, color: colorOf(n) })).filter(({ name }) => !hidden.has(name));
  const toggle = (name: string) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  };
  const select = (a: number, b: number) => {
    const [first, last] = [Math.min(a, b), Math.max(a, b)];
    onSelect?.(range.starts[first] ?? range.from, nextStep(range.starts[last] ?? range.to, range.step));
  };
  const press = (event: KeyboardEvent) => {
    const to = keyTarget(event.key, at, range.starts.length);
    if (to !== undefined) {
      event.preventDefault();
      setAnchor(event.shiftKey ? (anchor ?? at ?? to) : undefined);
      pointTo(plot.current, range, to);
      setAt(to);
    } else if (event.key === "Enter" && at !== undefined) select(anchor ?? at, at);
    else if (event.key === "Escape") setAt(undefined);
  };
  const text = at === undefined ? "" : describePoint(at, range, shown, previous, format);
  return (
    <figure class="chart">
      <div
        class="chart-plot"
        ref={place}
        role="slider"
        tabIndex={0}
        aria-label={onSelect ? `${title}. Arrow keys move, with Shift they select, Enter narrows the time.` : title}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, range.starts.length - 1)}
        aria-valuenow={at ?? 0}
        aria-valuetext={text === "" ? summaryOf(props) : text}
        onKeyDown={press}
        onBlur={() => setAt(undefined)}
      />
      {at !== undefined && (
        <Tip
          at={at}
          plot={plot.current}
          range={range}
          series={shown}
          previous={previous}
          format={format}
          anchor={anchor}
        />
      )}
      {(series.length > 1 || previous) && (
        <ul class="legend">
          {series.map(({ name }, n) => (
            <li key={name}>
              <button type="button" class="legend-item" aria-pressed={!hidden.has(name)} onClick={() => toggle(name)}>
                <i class={`series-${colorOf(n)}`} />
                {name}
              </button>
            </li>
          ))}
          {previous && (
            <li>
              <i class="dashed" /> Previous period
            </li>
          )}
        </ul>
      )}
    </figure>
  );
}

function keyTarget(key: string, at: number | undefined, count: number): number | undefined {
  const targets: Readonly<Record<string, number>> = {
    ArrowRight: at === undefined ? 0 : at + 1,
    ArrowLeft: at === undefined ? count - 1 : at - 1,
    Home: 0,
    End: count - 1,
  };
  const target = targets[key];
  return target === undefined ? undefined : Math.min(count - 1, Math.max(0, target));
}

/** The middle of a step in seconds since 1970; its bar is drawn around it. */
const middleOf = ({ starts, step }: TimeRange, n: number): number =>
  ((starts[n] ?? 0) + nextStep(starts[n] ?? 0, step)) / 2_000;

function pointTo(plot: uPlot | undefined, range: TimeRange, n: number): void {
  plot?.setCursor({ left: plot.valToPos(middleOf(range, n), "x"), top: 20 }, false);
}

const sumAt = (series: readonly ChartSeries[], n: number): number =>
  series.reduce((sum, { values }) => sum + (values[n] ?? 0), 0);

function summaryOf({ range, series, kind, format }: ChartProps): string {
  const sums = range.starts.map((_, n) =>
    kind === "lines" ? Math.max(0, ...series.map(({ values }) => values[n] ?? 0)) : sumAt(series, n),
  );
  const highest = Math.max(0, ...sums);
  if (highest === 0) return "No values";
  return `Highest: ${format(highest)}, ${stepName(range.starts[sums.indexOf(highest)] ?? 0, range.step)}`;
}

type DrawnSeries = ChartSeries & { readonly color: number };

function describePoint(
  at: number,
  { starts, step }: TimeRange,
  series: readonly ChartSeries[],
  previous: readonly number[] | undefined,
  format: (value: number) => string,
): string {
  const parts = series.flatMap(({ name, values }) => {
    const value = values[at];
    return value === null || value === undefined || value === 0 ? [] : [`${name}: ${format(value)}`];
  });
  const earlier = previous?.[at];
  return [
    stepName(starts[at] ?? 0, step),
    ...(parts.length === 0 ? ["no values"] : parts),
    ...(earlier === undefined ? [] : [`previous period: ${format(earlier)}`]),
  ].join(", ");
}

interface TipProps extends Pick<ChartProps, "range" | "previous" | "format"> {
  readonly at: number;
  readonly anchor: number | undefined;
  readonly plot: uPlot | undefined;
  readonly series: readonly DrawnSeries[];
}

function Tip({ at, anchor, plot, range, series, previous, format }: TipProps) {
  const left = plot ? plot.valToPos(middleOf(range, at), "x") + plot.over.offsetLeft : 0;
  const isRight = plot !== undefined && left > plot.width / 2;
  const side = isRight ? { right: `${(plot?.width ?? 0) - left + 12}px` } : { left: `${left + 12}px` };
  const earlier = previous?.[at];
  const begin = range.starts[Math.min(anchor ?? at, at)] ?? 0;
  const name = stepName(range.starts[Math.max(anchor ?? at, at)] ?? 0, range.step);
  return (
    <div class="chart-tip" aria-hidden="true" style={side}>
      <strong>{anchor === undefined || anchor === at ? name : `${stepName(begin, range.step)} to ${name}`}</strong>
      {series.map(({ name: each, values, color }) => {
        const value = values[at];
        return value === null || value === undefined || value === 0 ? null : (
          <span key={each}>
            <i class={`series-${color}`} /> {each} <b>{format(value)}</b>
          </span>
        );
      })}
      {series.length > 1 && sumAt(series, at) === 0 && <span>no values</span>}
      {earlier !== undefined && (
        <span class="muted">
          Previous period <b>{format(earlier)}</b>
        </span>
      )}
    </div>
  );
}

/** Draws the chart, and again whenever data, colours or width change. */
function usePlot(
  place: { readonly current: HTMLDivElement | null },
  props: ChartProps,
  hidden: ReadonlySet<string>,
  onPoint: (at: number | undefined) => void,
): { readonly current: uPlot | undefined } {
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const data = JSON.stringify([props.range, props.series, props.previous, props.kind, [...hidden]]);
  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const drawn = new uPlot(optionsOf(element, latest, hidden, onPoint), dataOf(props, hidden), element);
    plot.current = drawn;
    const touch = ({ touches }: TouchEvent) => {
      const box = drawn.over.getBoundingClientRect();
      drawn.setCursor({ left: (touches[0]?.clientX ?? 0) - box.left, top: 20 });
    };
    drawn.over.addEventListener("touchstart", touch, { passive: true });
    drawn.over.addEventListener("touchmove", touch, { passive: true });
    const watch = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      drawn.destroy();
    };
  }, [data, theme.value]);
  return plot;
}

/** The chart's columns in drawing order. In stacked charts the highest sum comes first, and each next one is drawn over it. */
function dataOf({ range, series, previous, kind }: ChartProps, hidden: ReadonlySet<string>): uPlot.AlignedData {
  const times = range.starts.map((_, n) => middleOf(range, n));
  const visible = series.filter(({ name }) => !hidden.has(name));
  const sums = times.map(() => 0);
  const columns = visible.map(({ values }) =>
    kind === "lines" ? [...values] : values.map((value, n) => (sums[n] = (sums[n] ?? 0) + (value ?? 0))),
  );
  return [times, ...columns.toReversed(), ...(previous ? [[...previous]] : [])];
}

function optionsOf(
  element: HTMLElement,
  latest: { readonly current: ChartProps },
  hidden: ReadonlySet<string>,
  onPoint: (at: number | undefined) => void,
): uPlot.Options {
  const { range, kind, series, previous, format, onSelect } = latest.current;
  const styles = getComputedStyle(element);
  const color = (name: string) => styles.getPropertyValue(`--${name}`);
  const axis = {
    stroke: color("muted"),
    font: `12px ${styles.fontFamily}`,
    ticks: { show: false },
    grid: { stroke: color("line"), width: 1 },
  };
  const drawn = series.flatMap(({ name }, n) =>
    hidden.has(name) ? [] : [seriesOf(kind, color(`series-${colorOf(n)}`))],
  );
  return {
    width: element.clientWidth,
    height,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), "Etc/UTC"),
    cursor: {
      y: false,
      points: { show: kind === "lines" },
      drag: { x: onSelect !== undefined, y: false, setScale: false },
    },
    scales: {
      x: { time: true, range: () => [range.from / 1_000, range.to / 1_000] },
      y: { range: (_, __, most) => [0, most > 0 ? most * 1.05 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        splits: ({ width }) => labelledSteps(range, width).map((n) => middleOf(range, n)),
        values: ({ width }) => labelledSteps(range, width).map((n) => tickName(range.starts[n] ?? 0, range.step)),
      },
      {
        ...axis,
        values: (_, splits) => splits.map((value) => format(value)),
        size: (_, values) => 14 + 7 * Math.max(3, ...(values ?? []).map(({ length }) => length)),
      },
    ],
    series: [
      {},
      ...drawn.toReversed(),
      ...(previous ? [{ stroke: color("text"), width: 1.5, dash: [4, 4], points: { show: false } }] : []),
    ],
    hooks: {
      setCursor: [({ cursor: { idx } }) => onPoint(idx ?? undefined)],
      setSelect: [(plot) => takeSelection(plot, latest.current)],
    },
  };
}

/** Width of a label of the time axis in pixels. */
const labelWidth = 76;

/** Numbers of the steps with a label. Their distance is the shortest regular one for which the labels fit into the width. */
function labelledSteps({ starts, step }: TimeRange, width: number): number[] {
  const room = Math.max(1, Math.floor((width - 60) / labelWidth));
  const regular =
    step === "hour" ? [1, 2, 3, 4, 6, 12, 24] : step === "day" ? [1, 2, 3, 7, 14, 28, 56] : [1, 2, 3, 6, 12];
  const gap = regular.find((each) => starts.length / each <= room) ?? Math.ceil(starts.length / room);
  return starts.flatMap((_, n) => (n % gap === 0 ? [n] : []));
}

function seriesOf(kind: ChartProps["kind"], color: string): uPlot.Series {
  if (kind === "lines") return { stroke: color, width: 2, spanGaps: false, points: { size: 5, fill: color } };
  const points = { show: false };
  if (kind === "area") return { stroke: color, fill: color, width: 1, points };
  const paths = uPlot.paths.bars?.({ size: [0.82, 60] });
  return { stroke: color, fill: color, width: 0, points, ...(paths && { paths }) };
}

/** Extends the period dragged with the pointer to whole steps, and reports it. */
function takeSelection(plot: uPlot, { range, onSelect }: ChartProps): void {
  const { left, width } = plot.select;
  if (width < 6) return;
  const inside = (ms: number, n: number) =>
    (range.starts[n] ?? 0) <= ms && ms < nextStep(range.starts[n] ?? 0, range.step);
  const indexAt = (x: number, otherwise: number) => {
    const found = range.starts.findIndex((_, n) => inside(plot.posToVal(x, "x") * 1_000, n));
    return found < 0 ? otherwise : found;
  };
  const first = indexAt(left, 0);
  const last = indexAt(left + width, range.starts.length - 1);
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  onSelect?.(range.starts[first] ?? range.from, nextStep(range.starts[last] ?? range.from, range.step));
}
