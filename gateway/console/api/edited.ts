/** The edited part of a form's settings: saving changes nothing else, not even values the form cannot show. */

/**
 * @param draft current settings of the form
 * @param shown settings of the form when it was opened
 */
export function changedSettings<Settings extends object>(draft: Settings, shown: Settings): Partial<Settings> {
  const entries = Object.entries(draft) as [keyof Settings, unknown][];
  const changed = entries.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(shown[name]));
  return Object.fromEntries(changed) as Partial<Settings>;
}
