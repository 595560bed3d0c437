/** Spending of keys on models their requests name, by kind of task, as the ledger summed it up last. */
export interface TaskSum {
  readonly task: string;
  /** Slug of the model. */
  readonly model: string;
  readonly usd: number;
}

const nothing: ReadonlyMap<string, number> = new Map();

export class TaskSpending {
  #byTask: ReadonlyMap<string, ReadonlyMap<string, number>> = new Map();

  /** Spending in USD on a task, by slug of the model. */
  of(task: string): ReadonlyMap<string, number> {
    return this.#byTask.get(task) ?? nothing;
  }

  replace(sums: readonly TaskSum[]): void {
    const byTask = new Map<string, Map<string, number>>();
    for (const { task, model, usd } of sums) {
      const models = byTask.get(task) ?? new Map<string, number>();
      byTask.set(task, models.set(model, usd));
    }
    this.#byTask = byTask;
  }
}
