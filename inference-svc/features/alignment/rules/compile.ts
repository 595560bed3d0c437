/**
 * Compiles rules that can be evaluated without a model: exact, immediate and free. A rule counts only if its whole text
 * matches one of the forms; a rule with any other words goes to the judge.
 */
import { lengthTemplates } from "./lengths.ts";
import { linkTemplates } from "./links.ts";
import type { Context, LocalRule, Template } from "./rule.ts";
import { scriptTemplates } from "./scripts.ts";
import { textTemplates } from "./texts.ts";
import { toolTemplates } from "./tools.ts";

const anchored = ({ form, read }: Template): Template => ({ form: new RegExp(`^(?:${form.source})$`, "i"), read });

const templates: readonly Template[] = [
  ...toolTemplates,
  ...lengthTemplates,
  ...textTemplates,
  ...linkTemplates,
  ...scriptTemplates,
].map(anchored);

const condition = /^if the content is not null, /i;

/** @param tools names of the request's tools @returns undefined when the rule matches no form */
export function compileRule(rule: string, tools: Context["tools"]): LocalRule | undefined {
  const text = rule.normalize("NFKC").trim().replaceAll(/\s+/g, " ").replace(/\.$/, "");
  const bare = text.replace(condition, "");
  const found = first(bare, { tools });
  return found && bare !== text ? onContent(found) : found;
}

function first(text: string, context: Context): LocalRule | undefined {
  for (const { form, read } of templates) {
    const [, ...parts] = form.exec(text) ?? [undefined];
    const rule = parts.length > 0 || form.test(text) ? read(parts, context) : undefined;
    if (rule) return rule;
  }
  return undefined;
}

/** Makes a rule about content hold for messages without content. */
const onContent = ({ isTotal, isBroken, isBrokenForGood }: LocalRule): LocalRule => ({
  isTotal,
  isBroken: (message) => (message.content === null ? false : isBroken(message)),
  ...(isBrokenForGood && { isBrokenForGood: (begun) => begun.content !== null && isBrokenForGood(begun) }),
});
