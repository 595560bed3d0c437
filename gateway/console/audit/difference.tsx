/** The changed fields with their values before and after. */

interface DifferenceProps {
  readonly before: unknown;
  readonly after: unknown;
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

const written = (value: unknown): string =>
  value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value);

export function Difference({ before, after }: DifferenceProps) {
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])].filter(
    (name) => written(was[name]) !== written(is[name]),
  );
  if (names.length === 0) return <p class="muted">No fields.</p>;
  return (
    <dl class="facts changes">
      {names.map((name) => (
        <>
          <dt class="mono">{name}</dt>
          <dd class="mono">
            {name in was && <del>{written(was[name])}</del>} {name in is && <ins>{written(is[name])}</ins>}
          </dd>
        </>
      ))}
    </dl>
  );
}
