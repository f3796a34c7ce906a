// CPU per request as bars, one panel for each workload, on a logarithmic scale.

const width = 860;
const left = 270;
const right = 90;
const rowHeight = 22;
const panelHead = 44;

const plain = text => text.replace(/[`*]/g, '').replace(/&/g, '&amp;').replace(/</g, '&lt;');

const themes = {
  light: { paper: '#ffffff', text: '#24292f', bar: '#afb8c1', ours: '#1a7f5a' },
  dark: { paper: '#0d1117', text: '#d0d7de', bar: '#57606a', ours: '#3fb984' },
};

/**
 * @param {{ title: string, results: { name: string, title: string, cpu: number }[] }[]} panels @param {'light' | 'dark'} theme
 * @returns the SVG's text
 */
export function plot(panels, theme) {
  const colors = themes[theme];
  const all = panels.flatMap(({ results }) => results.map(({ cpu }) => cpu));
  const least = 10 ** Math.floor(Math.log10(Math.min(...all)));
  const most = Math.max(...all);
  const scale = cpu =>
    ((Math.log10(cpu) - Math.log10(least)) / (Math.log10(most) - Math.log10(least))) * (width - left - right);
  let y = 10;
  const parts = [];
  for (const { title, results } of panels) {
    parts.push(`<text class="title" x="12" y="${y + 26}">${plain(title.split(':')[0])}</text>`);
    y += panelHead;
    for (const { name, title: server, cpu } of results) {
      const bar = Math.max(2, scale(cpu)).toFixed(1);
      const className = name.startsWith('ours') ? ' class="ours"' : '';
      const label = cpu < 1_000 ? `${cpu.toFixed(cpu < 100 ? 1 : 0)} us` : `${(cpu / 1_000).toFixed(2)} ms`;
      parts.push(
        `<text x="${left - 8}" y="${y + 15}" text-anchor="end"${className}>${plain(server)}</text>`,
        `<rect x="${left}" y="${y + 3}" width="${bar}" height="${rowHeight - 6}"${className}/>`,
        `<text x="${left + Number(bar) + 6}" y="${y + 15}">${label}</text>`,
      );
      y += rowHeight;
    }
  }
  const height = y + 30;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="CPU per request, by workload">
<style>
svg { background: ${colors.paper}; font: 13px system-ui, sans-serif; fill: ${colors.text} }
rect { fill: ${colors.bar} } rect.ours { fill: ${colors.ours} }
text.title { font-weight: 600; font-size: 14px } text.ours { font-weight: 600 }
</style>
${parts.join('\n')}
<text x="12" y="${height - 10}">CPU of the server per request; logarithmic scale; shorter is better.</text>
</svg>
`;
}
