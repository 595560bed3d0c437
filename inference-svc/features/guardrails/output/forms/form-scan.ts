/**
 * Scans one form of a text, such as the text without markup. As long as the form equals the raw text, the scan of the
 * raw text serves both. At the first difference the scans fork, and matches in the form are reported at their places in
 * the raw text.
 */
import { maxHeldUnits } from "../rules/bounded-scan.ts";
import type { RuleHit } from "../rules/merge-hits.ts";
import type { RuleScans } from "../rules/rule-scans.ts";
import type { Deobfuscated } from "./characters.ts";

/** Maximum UTF-16 units a rule looks behind. After as many equal units, one scan serves form and raw text again. */
const maxLookBehind = 64;
/** Number of place entries dropped at once, since dropping them one by one is slow. */
const placesPerTrim = 8_192;

/** Maximum UTF-16 units of raw text in a match of a form. Otherwise a word with much markup within it would hold the text back for too long. */
const maxMatchLength = 4 * maxHeldUnits;

type Form = Exclude<keyof Deobfuscated, "raw">;

export class FormScan {
  readonly #form: Form;
  /** The form from which this one seldom differs; undefined for the raw text. */
  readonly #base: FormScan | undefined;
  /** The forked scans; undefined while the form equals its base. */
  #scans: RuleScans | undefined;
  /** Place, in the form, of the first unit in `#starts` and `#ends`. */
  #origin = 0;
  #starts: number[] = [];
  #ends: number[] = [];
  /** Number of UTF-16 units of raw text read so far. */
  #length = 0;
  /** Number of equal units since the form last differed from its base. */
  #same = 0;

  readonly #baseForm: keyof Deobfuscated;

  constructor(form: Form, base?: FormScan) {
    this.#form = form;
    this.#base = base;
    this.#baseForm = base === undefined ? "raw" : base.#form;
  }

  get isForked(): boolean {
    return this.#scans !== undefined;
  }

  isUnchanged(pieces: Deobfuscated): boolean {
    return pieces[this.#form] === pieces[this.#baseForm];
  }

  #baseScans(raw: RuleScans): RuleScans {
    const base = this.#base;
    return base === undefined || base.#scans === undefined ? raw : base.#scans;
  }

  /** Forks the scans at the first difference. @param scans the raw text's scans, at the place `at` */
  forkFrom(scans: RuleScans, at: number): void {
    const base = this.#base;
    this.#same = 0;
    this.#scans = this.#baseScans(scans).fork();
    this.#origin = base?.isForked === true ? base.#origin : at;
    this.#starts = base ? [...base.#starts] : [];
    this.#ends = base ? [...base.#ends] : [];
    this.#length = at;
  }

  read(pieces: readonly Deobfuscated[]): readonly RuleHit[] {
    let text = "";
    for (const each of pieces) {
      const formText = each[this.#form];
      const isSame = formText === each.raw;
      this.#same = formText === each[this.#baseForm] ? this.#same + formText.length : 0;
      text += formText;
      for (let unit = 0; unit < formText.length; unit++) {
        this.#starts.push(this.#length + (isSame ? unit : 0));
        this.#ends.push(this.#length + (isSame ? unit + 1 : each.raw.length));
      }
      this.#length += each.raw.length;
    }
    return text === "" ? [] : this.#locate(this.#scans?.push(text));
  }

  end(): readonly RuleHit[] {
    return this.#locate(this.#scans?.end());
  }

  /** Place in the raw text before which this form can have no further matches. */
  get decided(): number {
    if (this.#scans === undefined) return Number.POSITIVE_INFINITY;
    return this.#startOf(this.#scans.decided);
  }

  /**
   * Drops the forked scans once the form equals its base again and no match is under way in either.
   * @param raw the raw text's scans
   */
  rejoin(raw: RuleScans): void {
    if (this.#scans === undefined) return;
    const isSame = this.#same >= maxLookBehind && this.#scans.isAtRest && this.#baseScans(raw).isAtRest;
    if (isSame || this.#length - this.decided > maxMatchLength) {
      this.#scans = undefined;
      this.#starts = [];
      this.#ends = [];
    } else this.#trim(this.#scans.decided);
  }

  #trim(decided: number): void {
    const over = Math.min(decided - this.#origin, this.#starts.length) - 1;
    if (over < placesPerTrim) return;
    this.#starts = this.#starts.slice(over);
    this.#ends = this.#ends.slice(over);
    this.#origin += over;
  }

  #locate(hits: readonly RuleHit[] = []): readonly RuleHit[] {
    return hits.map((hit) => ({ ...hit, start: this.#startOf(hit.start), end: this.#endOf(hit.end) }));
  }

  #startOf(place: number): number {
    return place < this.#origin ? place : (this.#starts[place - this.#origin] ?? this.#length);
  }

  #endOf(place: number): number {
    return place <= this.#origin ? place : (this.#ends[place - this.#origin - 1] ?? this.#length);
  }
}
