/** The edited part of a form's settings: a save leaves everything else as it is, also what the form cannot show. */

/**
 * @param draft settings as the form has them now
 * @param shown settings as the form had them when it was opened
 */
export function edited<Settings extends object>(draft: Settings, shown: Settings): Partial<Settings> {
  const entries = Object.entries(draft) as [keyof Settings, unknown][];
  const changed = entries.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(shown[name]));
  return Object.fromEntries(changed) as Partial<Settings>;
}
