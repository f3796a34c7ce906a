export function MarketPage() {
  return <h1>MarketPage</h1>;
}
