/** The shape of the source: how large a file, a function and a folder may be, and one meaning for each type name. */
import { posix } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { SOURCES } from './support/sources.ts'

const MAX_FILE_LINES = 400
const MAX_FUNCTION_LINES = 70
const MAX_FILES = 15

const FILES = SOURCES.filter(({ path }) => path.endsWith('.ts') && !path.startsWith('test/')).map(({ path, text }) => ({
  path,
  text,
  tree: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true),
}))

function nodesOf(tree: ts.SourceFile): ts.Node[] {
  const nodes: ts.Node[] = []
  const visit = (node: ts.Node) => {
    nodes.push(node)
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return nodes
}

describe('the source', () => {
  test(`has no file of more than ${MAX_FILE_LINES} lines`, () => {
    const lines = FILES.map(({ path, text }) => `${path}: ${text.split('\n').length - 1}`)
    expect(lines.filter((line) => Number(line.split(': ')[1]) > MAX_FILE_LINES)).toEqual([])
  })

  test(`has no function of more than ${MAX_FUNCTION_LINES} lines`, () => {
    const long = FILES.flatMap(({ path, tree }) => {
      const lineOf = (position: number) => tree.getLineAndCharacterOfPosition(position).line + 1
      return nodesOf(tree)
        .filter((node) => ts.isFunctionLike(node) && 'body' in node && node.body !== undefined)
        .filter((node) => lineOf(node.end) - lineOf(node.getStart()) >= MAX_FUNCTION_LINES)
        .map((node) => `${path}:${lineOf(node.getStart())}`)
    })
    expect(long).toEqual([])
  })

  test(`has no folder of more than ${MAX_FILES} files`, () => {
    const counts = new Map<string, number>()
    for (const { path } of FILES) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1)
    expect([...counts].filter(([, count]) => count > MAX_FILES)).toEqual([])
  })

  test('declares a type name in one file alone', () => {
    const places = new Map<string, string[]>()
    for (const { path, tree } of FILES)
      for (const node of nodesOf(tree))
        if (ts.isTypeAliasDeclaration(node) || ts.isInterfaceDeclaration(node))
          places.set(node.name.text, [...(places.get(node.name.text) ?? []), path])
    expect([...places].filter(([, paths]) => paths.length > 1)).toEqual([])
  })
})
