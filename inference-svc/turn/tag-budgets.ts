/** Finds the workspace's budgets for the tags of a turn. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { parseTags, tagsText } from "@sluice/proto/lib/turns/tags.js";

/** A tag of a turn for which the workspace has a budget. */
export interface TagBudget {
  readonly name: string;
  readonly value: string;
  /** Key of the value's own account in this process: workspace and tag. */
  readonly owner: string;
  /**
   * Key of the account shared by values without an account of their own, which may pay for this value; undefined for a
   * value with a budget of its own.
   */
  readonly shared: string | undefined;
}

interface BudgetedValues {
  /** Values that have budgets of their own. */
  readonly named: Set<string>;
  /** Whether there is a budget for every value. */
  isOpen: boolean;
}

/** Budgets by the name of the tag. */
type BudgetedTags = ReadonlyMap<string, BudgetedValues>;

const everyValue = "*";
const known = new WeakMap<Caller, BudgetedTags>();

/** @param tags tags of the turn as text @returns undefined when no tag has a budget, as for nearly every turn */
export function tagBudgetsOf(caller: Caller, tags: string): readonly TagBudget[] | undefined {
  if (caller.budgetTags.length === 0 || tags === "") return undefined;
  let budgeted = known.get(caller);
  if (budgeted === undefined) known.set(caller, (budgeted = budgetedTags(caller)));
  const budgets: TagBudget[] = [];
  for (const [name, value] of parseTags(tags, "tags")) {
    const values = budgeted.get(name);
    if (values === undefined) continue;
    const isNamed = values.named.has(value);
    if (!isNamed && !values.isOpen) continue;
    const owner = tagAccount(caller, tagsText([[name, value]]));
    budgets.push({ name, value, owner, shared: isNamed ? undefined : sharedAccount(caller, name) });
  }
  return budgets.length === 0 ? undefined : budgets;
}

/** @param tag the tag as text, as answers of the budgets name it @returns the key of its account in this process */
export const tagAccount = ({ workspaceId }: Pick<Caller, "workspaceId">, tag: string): string =>
  `${workspaceId} ${tag}`;

const sharedAccount = (caller: Caller, name: string): string => tagAccount(caller, tagsText([[name, everyValue]]));

function budgetedTags({ budgetTags }: Caller): BudgetedTags {
  const budgeted = new Map<string, BudgetedValues>();
  for (const [name, value] of budgetTags.flatMap((text) => parseTags(text, "budget_tags"))) {
    const values = budgeted.get(name) ?? { named: new Set(), isOpen: false };
    budgeted.set(name, values);
    if (value === everyValue) values.isOpen = true;
    else values.named.add(value);
  }
  return budgeted;
}
