/**
 * The path of a key in the API. A part that is `.` or `..` would be resolved by the browser as a folder, so it is
 * written with the escapes that keys have themselves.
 */
export function keyPath(prefix: string, key: string): string {
  const segments = key.split('/').map((part) => (/^\.{1,2}$/.test(part) ? part.replaceAll('.', '%002e') : part))
  return `${prefix}${segments.map(encodeURIComponent).join('/')}`
}
