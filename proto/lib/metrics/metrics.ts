/**
 * Prometheus metrics. Values are plain numbers, formatted only when metrics are read. Labels only have values of closed
 * sets, never values invented by clients.
 */
import { Registry as NodeMetrics, collectDefaultMetrics } from "prom-client";

/** A metric as the registry reads it. */
interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  /** Calls `give` for each sample. @param labels as text without braces; empty for none */
  samples(give: (suffix: string, labels: string, value: number) => void): void;
}

export class Registry {
  readonly contentType = "text/plain; version=0.0.4; charset=utf-8";
  readonly #metrics = new Map<string, Metric>();
  readonly #room: string;
  readonly #node: NodeMetrics | undefined;

  /**
   * @param room value of the label `room` in every sample; without it, samples have no such label
   * @param node metrics of Node.js itself
   */
  constructor(room?: string, node?: NodeMetrics) {
    this.#room = room === undefined ? "" : labelText(["room"], { room });
    this.#node = node;
  }

  /** For constructors of metrics: adds a metric. @throws Error when the name is taken */
  add(metric: Metric): void {
    if (this.#metrics.has(metric.name)) throw new Error(`A metric named ${metric.name} exists already.`);
    this.#metrics.set(metric.name, metric);
  }

  /** The text of all metrics in the Prometheus format. */
  async metrics(): Promise<string> {
    const texts = [...this.#metrics.values()].map((metric) => this.#textOf(metric));
    const node = await this.#node?.metrics();
    return `${texts.join("\n\n")}\n${node === undefined ? "" : `\n${node}`}`;
  }

  #textOf(metric: Metric): string {
    const { name, help, type } = metric;
    const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
    metric.samples((suffix, labels, value) => {
      const all = labels === "" || this.#room === "" ? labels + this.#room : `${labels},${this.#room}`;
      lines.push(`${name}${suffix}${all === "" ? "" : `{${all}}`} ${value}`);
    });
    return lines.join("\n");
  }
}

/** Creates the registry of a process, with the default metrics of Node.js. */
export function openMetrics(room: string): Registry {
  const node = new NodeMetrics();
  node.setDefaultLabels({ room });
  collectDefaultMetrics({ register: node });
  return new Registry(room, node);
}

type Labels<Name extends string> = Readonly<Record<Name, string>>;

interface MetricOptions<Name extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly Name[];
  readonly registers: readonly Registry[];
}

/** Finds series by the values of their labels, with one level of maps for each label, so no texts are joined. */
class Level<Series> {
  readonly below = new Map<string, Level<Series>>();
  series: Series | undefined = undefined;
}

/** A metric with one series for each combination of label values, or with a single series without labels. */
abstract class Labelled<Name extends string, Series> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Name[];
  readonly #levels = new Level<Series>();
  /** All series, by the text of their labels. */
  protected readonly series = new Map<string, Series>();

  constructor({ name, help, labelNames = [] }: MetricOptions<Name>) {
    this.name = name;
    this.help = help;
    this.labelNames = labelNames;
  }

  protected abstract open(): Series;

  /** The series of these label values, created on first use. */
  labels(values: Labels<Name>): Series {
    let level = this.#levels;
    for (const name of this.labelNames) {
      const { below } = level;
      let next = below.get(values[name]);
      if (next === undefined) below.set(values[name], (next = new Level()));
      level = next;
    }
    return (level.series ??= this.#add(values));
  }

  #add(values: Labels<Name>): Series {
    const series = this.open();
    this.series.set(labelText(this.labelNames, values), series);
    return series;
  }

  /** The only series of a metric without labels. It is created at once, so its first increase is visible. */
  protected unlabelled(): Series | undefined {
    return this.labelNames.length === 0 ? this.labels({} as Labels<Name>) : undefined;
  }
}

export class CounterSeries {
  value = 0;

  inc(by = 1): void {
    this.value += by;
  }
}

export class Counter<Name extends string = never> extends Labelled<Name, CounterSeries> implements Metric {
  readonly type = "counter";
  readonly #unlabelled: CounterSeries | undefined;

  constructor(options: MetricOptions<Name>) {
    super(options);
    this.#unlabelled = this.unlabelled();
    for (const registry of options.registers) registry.add(this);
  }

  protected open(): CounterSeries {
    return new CounterSeries();
  }

  /** Increases a counter without labels. */
  inc(this: Counter, by = 1): void {
    this.#unlabelled?.inc(by);
  }

  samples(give: Parameters<Metric["samples"]>[0]): void {
    for (const [labels, { value }] of this.series) give("", labels, value);
  }
}

export class HistogramSeries {
  readonly #bounds: Float64Array;
  /** Number of observations in each bucket, not cumulative; the last bucket has no upper bound. */
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: Float64Array) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
    (this.#counts[bucket] as number)++;
    this.#sum += value;
  }

  samples(labels: string, give: Parameters<Metric["samples"]>[0]): void {
    const others = labels === "" ? "" : `,${labels}`;
    let count = 0;
    for (const [bucket, within] of this.#counts.entries()) {
      count += within;
      give("_bucket", `le="${this.#bounds[bucket] ?? "+Inf"}"${others}`, count);
    }
    give("_sum", labels, this.#sum);
    give("_count", labels, count);
  }
}

export class Histogram<Name extends string = never> extends Labelled<Name, HistogramSeries> implements Metric {
  readonly type = "histogram";
  readonly #bounds: Float64Array;
  readonly #unlabelled: HistogramSeries | undefined;

  /** @param options with the upper bounds of the buckets, ascending */
  constructor(options: MetricOptions<Name> & { readonly buckets: readonly number[] }) {
    super(options);
    this.#bounds = Float64Array.from(options.buckets);
    this.#unlabelled = this.unlabelled();
    for (const registry of options.registers) registry.add(this);
  }

  protected open(): HistogramSeries {
    return new HistogramSeries(this.#bounds);
  }

  /** Adds an observation to a histogram without labels. */
  observe(this: Histogram, value: number): void {
    this.#unlabelled?.observe(value);
  }

  samples(give: Parameters<Metric["samples"]>[0]): void {
    for (const [labels, series] of this.series) series.samples(labels, give);
  }
}

/** Registers a gauge whose value is computed whenever metrics are read. */
export function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  registry.add({ name, help, type: "gauge", samples: (give) => give("", "", read()) });
}

/**
 * Registers a gauge with labels whose values are computed whenever metrics are read. @param read calls `set` for each
 * combination of labels
 */
export function labelledGauge<Name extends string>(
  registry: Registry,
  { name, help, labelNames }: { readonly name: string; readonly help: string; readonly labelNames: readonly Name[] },
  read: (set: (labels: Labels<Name>, value: number) => void) => void,
): void {
  registry.add({
    name,
    help,
    type: "gauge",
    samples(give) {
      const values = new Map<string, number>();
      read((labels, value) => values.set(labelText(labelNames, labels), value));
      for (const [labels, value] of values) give("", labels, value);
    },
  });
}

const labelText = <Name extends string>(names: readonly Name[], values: Labels<Name>): string =>
  names.map((name) => `${name}="${escaped(values[name])}"`).join(",");

const escaped = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
