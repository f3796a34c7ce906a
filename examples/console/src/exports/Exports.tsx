export function Exports() {
  return <h1>Exports</h1>;
}
