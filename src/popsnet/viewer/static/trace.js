export async function readRecordings() {
  const { runs } = JSON.parse(document.getElementById("recordings").textContent);
  return Promise.all(runs.map(async ({ name, gzip }) => {
    const bytes = Uint8Array.from(atob(gzip), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return { name, text: await new Response(stream).text() };
  }));
}
