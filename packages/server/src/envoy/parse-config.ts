import { type Document, parseDocument, visit } from 'yaml'

/**
 * Parses a configuration as Envoy's service reads it: every scalar is its text, and null stays null. Go's YAML puts
 * `value: 007` into a text field as it is written; as a number it would be 7, and match nothing that is sent.
 */
export function parseConfig(text: string): unknown {
  const document = parseDocument(text)
  const [error] = document.errors
  // What follows the first line is a picture of the place.
  if (error !== undefined) throw new Error(error.message.split('\n')[0]!.replace(/:$/, ''))
  keepTexts(document)
  return document.toJS()
}

function keepTexts(document: Document): void {
  visit(document, {
    Scalar(_, scalar) {
      if (scalar.tag !== undefined && scalar.tag !== 'tag:yaml.org,2002:str')
        throw new Error(`the tag ${scalar.tag} is not supported; write plain or quoted text`)
      if (scalar.value !== null && scalar.source !== undefined) scalar.value = scalar.source
    },
  })
}
