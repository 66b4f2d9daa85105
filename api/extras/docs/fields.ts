/** An answer's fields in a flat list, as a reader looks them up: `data[].open`. */
import type { OpenApi, Schema } from '../../schema/openapi.ts'

export type Field = { path: string; type: string; description: string }

/** A named schema is followed to its definition; an optional field has a question mark. */
export function fieldsOf(document: OpenApi, schema: Schema, prefix = ''): readonly Field[] {
  const { properties = {}, required = [] } = resolve(document, schema)
  return Object.entries(properties).flatMap(([name, part]) => {
    if (typeof part === 'boolean') return []
    const path = `${prefix}${name}${required.includes(name) ? '' : '?'}`
    const own = { path, type: typeOf(document, part), description: descriptionOf(document, part) }
    const inner = resolve(document, part)
    if (inner.type === 'array' && isSchema(inner.items)) return [own, ...fieldsOf(document, inner.items, `${path}[].`)]
    return [own, ...fieldsOf(document, inner, `${path}.`)]
  })
}

export function typeOf(document: OpenApi, schema: Schema): string {
  const { type, enum: values, anyOf } = plain(document, schema)
  if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(' or ')
  if (anyOf !== undefined) return anyOf.map((one) => (isSchema(one) ? typeOf(document, one) : '')).join(' or ')
  return String(type ?? '')
}

function descriptionOf(document: OpenApi, schema: Schema): string {
  return schema.description ?? plain(document, schema).description ?? ''
}

/** The schema without its null variant. */
function resolve(document: OpenApi, schema: Schema): Schema {
  const known = plain(document, schema)
  const present = known.anyOf?.find((one) => isSchema(one) && one.type !== 'null')
  return isSchema(present) ? resolve(document, present) : known
}

function plain(document: OpenApi, schema: Schema): Schema {
  const name = schema.$ref?.replace('#/components/schemas/', '')
  return (name === undefined ? undefined : document.components.schemas[name]) ?? schema
}

function isSchema(part: unknown): part is Schema {
  return typeof part === 'object' && part !== null && !Array.isArray(part)
}
