/**
 * One form of a text beside the text itself. As long as both are the same it costs nothing; where they part, every rule's reading forks, and what is
 * found in the form from there on is told with its place in the text.
 */
import { maxHeld } from "./bounded.ts";
import type { Hit } from "./regions.ts";
import type { RuleScans } from "./rule-scans.ts";
import type { Undisguised } from "./undisguise.ts";

/** UTF-16 units of a text that a rule may look back to; behind as many that are the same again in both, one reading is enough. */
const reach = 64;
/** Places of decided units that are kept before they are dropped together. */
const mostKept = 8_192;

/** Longest stretch of a text that a match in a form of it may take: much markup within a word would keep the text back otherwise. */
const maxTaken = 4 * maxHeld;

type Form = Exclude<keyof Undisguised, "raw">;

export class View {
  readonly #form: Form;
  /** The form that this one is most of the time; undefined where that is the text itself. */
  readonly #base: View | undefined;
  /** Undefined while the form is the text. */
  #scans: RuleScans | undefined;
  /** Where the first of the units stands in the form whose places are kept. */
  #origin = 0;
  #starts: number[] = [];
  #ends: number[] = [];
  /** In the text, of what was read. */
  #length = 0;
  /** Units since both were different. */
  #same = 0;

  readonly #baseForm: keyof Undisguised;

  constructor(form: Form, base?: View) {
    this.#form = form;
    this.#base = base;
    this.#baseForm = base === undefined ? "raw" : base.#form;
  }

  get isApart(): boolean {
    return this.#scans !== undefined;
  }

  isSame(made: Undisguised): boolean {
    return made[this.#form] === made[this.#baseForm];
  }

  #baseScans(raw: RuleScans): RuleScans {
    const base = this.#base;
    return base === undefined || base.#scans === undefined ? raw : base.#scans;
  }

  /** @param scans have read the text up to there */
  part(scans: RuleScans, at: number): void {
    const base = this.#base;
    this.#same = 0;
    this.#scans = this.#baseScans(scans).fork();
    this.#origin = base?.isApart === true ? base.#origin : at;
    this.#starts = base ? [...base.#starts] : [];
    this.#ends = base ? [...base.#ends] : [];
    this.#length = at;
  }

  read(made: readonly Undisguised[]): readonly Hit[] {
    let text = "";
    for (const each of made) {
      const said = each[this.#form];
      const isSame = said === each.raw;
      this.#same = said === each[this.#baseForm] ? this.#same + said.length : 0;
      text += said;
      for (let unit = 0; unit < said.length; unit++) {
        this.#starts.push(this.#length + (isSame ? unit : 0));
        this.#ends.push(this.#length + (isSame ? unit + 1 : each.raw.length));
      }
      this.#length += each.raw.length;
    }
    return text === "" ? [] : this.#located(this.#scans?.push(text));
  }

  end(): readonly Hit[] {
    return this.#located(this.#scans?.end());
  }

  /** In the text. Up to here nothing will be found in the form any more. */
  get decided(): number {
    if (this.#scans === undefined) return Number.POSITIVE_INFINITY;
    return this.#startOf(this.#scans.decided);
  }

  /** One reading is enough again where neither has anything under way. @param raw those of the text */
  join(raw: RuleScans): void {
    if (this.#scans === undefined) return;
    const isSame = this.#same >= reach && this.#scans.isAtRest && this.#baseScans(raw).isAtRest;
    if (isSame || this.#length - this.decided > maxTaken) {
      this.#scans = undefined;
      this.#starts = [];
      this.#ends = [];
    } else this.#forget(this.#scans.decided);
  }

  #forget(decided: number): void {
    const over = Math.min(decided - this.#origin, this.#starts.length) - 1;
    if (over < mostKept) return;
    this.#starts = this.#starts.slice(over);
    this.#ends = this.#ends.slice(over);
    this.#origin += over;
  }

  #located(hits: readonly Hit[] = []): readonly Hit[] {
    return hits.map((hit) => ({ ...hit, start: this.#startOf(hit.start), end: this.#endOf(hit.end) }));
  }

  #startOf(place: number): number {
    return place < this.#origin ? place : (this.#starts[place - this.#origin] ?? this.#length);
  }

  #endOf(place: number): number {
    return place <= this.#origin ? place : (this.#ends[place - this.#origin - 1] ?? this.#length);
  }
}
