/** The last line of a terminal, with the number of finished files, running files, failures and elapsed time. Elsewhere there is no output. */

interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Milliseconds between progress lines. */
const redrawMs = 1_000;
const clearLine = "\r\u001b[2K";

export class Progress {
  readonly #screen: Screen;
  readonly #now: () => number;
  readonly #running = new Set<string>();
  #total = 0;
  #done = 0;
  #failed = 0;
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(screen: Screen, now: () => number = () => performance.now()) {
    this.#screen = screen;
    this.#now = now;
  }

  begin(total: number): void {
    this.#total = total;
    this.#startedAt = this.#now();
    if (this.#screen.isTTY !== true) return;
    this.#timer = setInterval(() => this.#draw(), redrawMs);
    this.#timer.unref();
  }

  started(name: string): void {
    this.#running.add(name);
    this.#draw();
  }

  ended(name: string, failures: number): void {
    this.#running.delete(name);
    this.#done += 1;
    this.#failed += failures;
  }

  /** Writes permanent lines above the progress line. */
  above(lines: string): void {
    if (this.#timer === undefined) return void this.#screen.write(lines);
    this.#screen.write(`${clearLine}${lines}`);
    this.#draw();
  }

  end(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#screen.write(clearLine);
  }

  #draw(): void {
    if (this.#timer === undefined) return;
    const seconds = Math.floor((this.#now() - this.#startedAt) / 1_000);
    const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    const failed = this.#failed > 0 ? `, ${this.#failed} failed` : "";
    const line = `${this.#done}/${this.#total} files${failed}, ${time}, running ${[...this.#running].map((name) => name.replace(/\.test$/, "")).join(" ")}`;
    // The line is cut to the terminal's width, since a wrapped line could not be cleared.
    this.#screen.write(clearLine + line.slice(0, (this.#screen.columns ?? 80) - 1));
  }
}
