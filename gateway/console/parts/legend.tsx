/** Colours and their meanings. */
export const Legend = ({ names }: { names: readonly string[] }) => (
  <ul class="legend">
    {names.map((name, n) => (
      <li key={name}>
        <i class={`series-${(n % 6) + 1}`} />
        {name}
      </li>
    ))}
  </ul>
);
