const plain = /^[ !#-[\]-~]*$/
const unprintable = /[^ -~]+/gu
const loneSurrogate = /\p{Surrogate}/gu

/**
 * Writes text as an RFC 9651 string. Such strings are printable ASCII, so everything else is written as the
 * percent-encoded bytes of its UTF-8.
 *
 * @example sfString('per "user"') // '"per \\"user\\""'
 */
export function sfString(text: string): string {
  if (plain.test(text)) return `"${text}"`
  const printable = text.replace(loneSurrogate, '\ufffd').replace(unprintable, encodeURIComponent)
  return `"${printable.replace(/["\\]/g, '\\$&')}"`
}
