/** Changes between two OpenAPI documents that break the clients of the earlier one. */
type Json = { readonly [name: string]: unknown }

/** One line for each; empty where every request of `before` is still taken, and every answer has what `before` says. */
export function breakingChanges(before: Json, after: Json): string[] {
  const found: string[] = []
  for (const [path, methods] of Object.entries(objectOf(before['paths']))) {
    for (const [method, operation] of Object.entries(objectOf(methods))) {
      const now = objectOf(objectOf(objectOf(after['paths'])[path])[method])
      const name = `${method.toUpperCase()} ${path}`
      if (Object.keys(now).length === 0) found.push(`${name} is gone`)
      else found.push(...ofParameters(name, objectOf(operation), now), ...ofAnswers(name, objectOf(operation), now))
    }
  }
  return found

  function ofParameters(name: string, was: Json, now: Json): string[] {
    const [old, current] = [parametersOf(was, before), parametersOf(now, after)]
    const lines = [...current]
      .filter(([key, one]) => one['required'] === true && old.get(key)?.['required'] !== true)
      .map(([key]) => `${name}: ${key} is required`)
    for (const [key, one] of old) {
      const same = current.get(key)
      if (!same) lines.push(`${name}: ${key} is gone`)
      else if (missing(enumOf(one), enumOf(same)).length > 0) lines.push(`${name}: ${key} takes fewer values`)
    }
    return lines
  }

  function ofAnswers(name: string, was: Json, now: Json): string[] {
    return Object.entries(objectOf(was['responses'])).flatMap(([status, response]) => {
      const answer = objectOf(now['responses'])[status]
      if (answer === undefined) return [`${name}: no ${status}`]
      const old = objectOf(resolved(response, before)['content'])
      const current = objectOf(resolved(answer, after)['content'])
      return Object.entries(old).flatMap(([type, content]) =>
        current[type] === undefined
          ? [`${name} ${status}: no ${type}`]
          : ofSchemas(`${name} ${status}`, objectOf(content)['schema'], objectOf(current[type])['schema']),
      )
    })
  }

  function ofSchemas(name: string, one: unknown, other: unknown): string[] {
    const [was, now] = [resolved(one, before), resolved(other, after)]
    if (String(was['type']) !== String(now['type'])) return [`${name} is ${now['type']} and was ${was['type']}`]
    const lines = missing(was['required'], now['required']).map((property) => `${name}.${property} may be absent`)
    const properties = objectOf(now['properties'])
    for (const [property, schema] of Object.entries(objectOf(was['properties']))) {
      if (properties[property] === undefined) lines.push(`${name}.${property} is gone`)
      else lines.push(...ofSchemas(`${name}.${property}`, schema, properties[property]))
    }
    return was['items'] === undefined ? lines : [...lines, ...ofSchemas(`${name}[]`, was['items'], now['items'])]
  }
}

function parametersOf(operation: Json, document: Json): ReadonlyMap<string, Json> {
  const all = (operation['parameters'] ?? []) as unknown[]
  return new Map(all.map((one) => resolved(one, document)).map((one) => [`${one['in']} ${one['name']}`, one]))
}

function resolved(value: unknown, document: Json): Json {
  const reference = objectOf(value)['$ref']
  if (typeof reference !== 'string') return objectOf(value)
  const target = reference
    .slice('#/'.length)
    .split('/')
    .reduce<unknown>((at, name) => objectOf(at)[name], document)
  return resolved(target, document)
}

const enumOf = (parameter: Json) => objectOf(parameter['schema'])['enum']

function missing(was: unknown, now: unknown): unknown[] {
  if (!Array.isArray(was)) return []
  return Array.isArray(now) ? was.filter((one) => !now.includes(one)) : []
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}
