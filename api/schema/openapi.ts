/** The OpenAPI 3.1 document, built from the schemas that validate the parameters and from the schemas of the answers. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { groupBy } from '../lib/group.ts'
import { PROBLEMS, type ProblemCode } from '../lib/problem.ts'
import { PROBLEM_SCHEMAS, problemSchemaName, SCHEMAS } from './answers.ts'
import { HEADERS, type HeaderName } from './headers.ts'
import { OPERATIONS, type OperationPlan } from './operations.ts'

export type Schema = z.core.JSONSchema.JSONSchema
export type Parameter = { name: string; in: 'query'; description: string; required: boolean; schema: Schema }
export type ResponseHeader = { description: string; required?: boolean; schema: Schema }
export type Example = { summary: string; value: unknown }
export type Content = { schema: Schema; examples?: Record<string, Example> }
export type Response = {
  description: string
  headers: Record<string, ResponseHeader>
  content?: Record<string, Content>
}
export type Operation = {
  operationId: string
  summary: string
  description: string
  security?: readonly Record<string, readonly string[]>[]
  parameters: readonly Parameter[]
  responses: Record<string, Response>
  'x-credits': string
}
export type OpenApi = {
  openapi: '3.1.1'
  info: { title: string; version: string; description: string; license: { name: string; identifier: string } }
  servers: readonly { url: string; description: string }[]
  security: readonly Record<string, readonly string[]>[]
  paths: Record<string, { get: Operation }>
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, Response>
    securitySchemes: Record<string, { type: 'apiKey'; in: 'header'; name: string; description: string }>
  }
}

/** Recorded answers, by operation and by error code. */
type Examples = Readonly<Record<string, { request: string; body: unknown } | undefined>>

/** Operations beside the four, each with the schema of its answer and an example by its id. */
export type AddedApi = {
  operations: Readonly<Record<string, OperationPlan>>
  schemas: Readonly<Record<string, z.ZodObject>>
  examples: Examples
}

export function openApi(...added: readonly AddedApi[]): OpenApi {
  const overview = readFileSync(new URL('./overview.md', import.meta.url), 'utf8')
  const recorded: Examples = JSON.parse(readFileSync(new URL('./examples.json', import.meta.url), 'utf8'))
  const examples: Examples = Object.assign({}, recorded, ...added.map((one) => one.examples))
  const plans: typeof OPERATIONS = Object.assign({}, OPERATIONS, ...added.map(({ operations }) => operations))
  const schemas: AddedApi['schemas'] = Object.assign({}, SCHEMAS, ...added.map((one) => one.schemas), PROBLEM_SCHEMAS)
  const paths = Object.entries(plans).map(([path, plan]) => [path, { get: operation(plan, examples) }])
  return {
    openapi: '3.1.1',
    info: {
      title: 'Candlepool',
      version: 'v0',
      description: overview,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The service that this document came from.' }],
    security: [{ key: [] }],
    paths: Object.fromEntries(paths),
    components: {
      schemas: schemasOf(schemas),
      responses: {
        NotFound: problemResponse(404, ['not_found'], examples),
        MethodNotAllowed: problemResponse(405, ['method_not_allowed'], examples),
      },
      securitySchemes: {
        key: { type: 'apiKey', in: 'header', name: 'X-API-KEY', description: 'A key that the operator gave you.' },
      },
    },
  }
}

function operation(plan: OperationPlan, examples: Examples): Operation {
  const byStatus = groupBy(plan.problems, (code) => PROBLEMS[code].status)
  const problems = [...byStatus].map(([status, codes]) => [
    status,
    problemResponse(status, codes, examples, plan.needsKey && status !== 401 ? LIMITS : []),
  ])
  const limits = plan.needsKey ? LIMITS : []
  return {
    operationId: plan.id,
    summary: plan.summary,
    description: plan.description,
    ...(!plan.needsKey && { security: [] }),
    parameters: plan.parameters === undefined ? [] : parametersOf(plan.parameters),
    responses: {
      200: {
        description: plan.summary,
        headers: headers('Cache-Control', ...plan.headers, ...limits),
        content: {
          'application/json': {
            schema: reference(plan.answer),
            ...examplesOf([plan.id], examples),
          },
        },
      },
      304: {
        description: 'The answer is still the one that `If-None-Match` names.',
        headers: headers('Cache-Control', ...limits),
      },
      ...Object.fromEntries(problems),
    },
    'x-credits': plan.credits,
  }
}

function parametersOf(shape: z.ZodObject): readonly Parameter[] {
  const { properties = {}, required = [] } = z.toJSONSchema(shape, { io: 'input' })
  return Object.entries(properties).flatMap(([name, whole]) => {
    if (typeof whole === 'boolean') return []
    const { description: meaning = '', rule, ...schema } = whole
    const description = typeof rule === 'string' ? `${meaning} It must be ${rule}.` : meaning
    return [{ name, in: 'query', description, required: required.includes(name), schema }]
  })
}

const OF_STATUS: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

/** Headers of every answer to a valid key. */
const LIMITS: readonly HeaderName[] = ['RateLimit', 'RateLimit-Policy']

function problemResponse(
  status: number,
  codes: readonly ProblemCode[],
  examples: Examples,
  more: readonly HeaderName[] = [],
): Response {
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].meaning}`).join('\n\n'),
    headers: headers(...(OF_STATUS[status] ?? []), ...more),
    content: {
      'application/problem+json': {
        schema: reference(problemSchemaName(status)),
        ...examplesOf(codes, examples),
      },
    },
  }
}

function headers(...names: readonly HeaderName[]): Record<string, ResponseHeader> {
  return Object.fromEntries(['X-Request-Id' as const, ...names].map((name) => [name, HEADERS[name]]))
}

function examplesOf(names: readonly string[], examples: Examples): { examples?: Record<string, Example> } {
  const known = names.flatMap((name) => {
    const example = examples[name]
    return example === undefined ? [] : [[name, { summary: `GET ${example.request}`, value: example.body }]]
  })
  return known.length === 0 ? {} : { examples: Object.fromEntries(known) }
}

function reference(name: string): { $ref: string } {
  return { $ref: referenceTo(name) }
}

function referenceTo(name: string): string {
  return `#/components/schemas/${name}`
}

function schemasOf(named: Readonly<Record<string, z.ZodObject>>): Record<string, Schema> {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id })
  const made = z.toJSONSchema(registry, { uri: referenceTo })
  return Object.fromEntries(
    Object.entries(made.schemas).map(([name, { $schema: _dialect, $id: _id, ...schema }]) => [name, schema]),
  )
}
