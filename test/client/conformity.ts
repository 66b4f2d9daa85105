/** Whether an answer is one that the OpenAPI document allows: its status, its headers, its body. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Response as Documented, OpenApi } from '../../api/schema/openapi.ts'

export type Seen = { status: number; headers: Headers; text: string }

/** Deviations of an answer from the document; empty where it conforms. */
export type Conformity = (method: string, path: string, seen: Seen) => readonly string[]

const ID = 'https://candlepool.example/openapi.json'

export function conformityTo(document: OpenApi): Conformity {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema(document, ID)
  const known = new Map<string, ValidateFunction>()

  function faults(pointer: string, value: unknown): readonly string[] {
    const validate = known.get(pointer) ?? ajv.compile({ $ref: `${ID}#${pointer}` })
    known.set(pointer, validate)
    if (validate(value)) return []
    return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message ?? ''}`)
  }

  return function conformity(method, path, { status, headers, text }) {
    const { pointer, documented } = find(document, method, path, status)
    if (documented === undefined) return [`status ${status} is not documented`]
    const wrong = headerFaults(documented, headers)
    const type = headers.get('content-type') ?? ''
    if (method === 'HEAD' || documented.content === undefined)
      return text === '' ? wrong : [...wrong, 'there is a body where there is to be none']
    const media = type.replace('; charset=utf-8', '')
    if (documented.content[media] === undefined) return [...wrong, `content type ${type} is not documented`]
    const body: unknown = JSON.parse(text)
    return [...wrong, ...faults(`${pointer}/content/${media.replace('/', '~1')}/schema`, body)]
  }
}

function headerFaults(documented: Documented, headers: Headers): readonly string[] {
  return Object.entries(documented.headers).flatMap(([name, { required = false, schema }]) => {
    const value = headers.get(name)
    if (value === null) return required ? [`the header ${name} is missing`] : []
    if (schema.type === 'integer' && !/^[1-9][0-9]*$/.test(value)) return [`${name}: ${value} is no whole number`]
    if (schema.const !== undefined && schema.const !== value)
      return [`${name}: ${value} is not ${String(schema.const)}`]
    return []
  })
}

const NOTHING: Documented = { description: 'What a browser asks before it asks.', headers: {} }

/** Express takes a path in any letter case, and with a slash at its end. */
function find(
  document: OpenApi,
  method: string,
  path: string,
  status: number,
): { pointer: string; documented: Documented | undefined } {
  const route = path.toLowerCase().replace(/\/$/, '')
  const asked = method === 'GET' || method === 'HEAD' ? document.paths[route] : undefined
  if (asked === undefined && method === 'OPTIONS' && status === 204) return { pointer: '', documented: NOTHING }
  const elsewhere = { 404: 'NotFound', 405: 'MethodNotAllowed' }[status]
  if (asked === undefined && elsewhere !== undefined)
    return { pointer: `/components/responses/${elsewhere}`, documented: document.components.responses[elsewhere] }
  // What may go wrong before a path is looked at, is the same for all.
  const where = asked === undefined ? '/v0/health' : route
  const documented = asked === undefined && status < 400 ? undefined : document.paths[where]?.get.responses[status]
  return { pointer: `/paths/${where.replaceAll('/', '~1')}/get/responses/${status}`, documented }
}
