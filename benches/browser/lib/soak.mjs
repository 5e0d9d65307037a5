export async function soak() { throw new Error('not yet'); }
