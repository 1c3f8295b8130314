// What is different between two states of the board. No DOM in here.

import { longestRun } from "./order.js";

/**
 * @typedef {{id: string, title: string, notes: string, assignee: string}} Card
 * @typedef {{id: string, title: string, cards: Card[]}} Column
 * @typedef {{columns: Column[]}} Board
 * @typedef {{card: Card, column: Column, position: number}} Place
 * @typedef {{
 *   kind: "added" | "moved" | "edited" | "renamed" | "deleted" | "removed",
 *   what: "card" | "column", id: string, name: string, where: string,
 * }} Difference
 */

/**
 * Find each card with its column and position, by the card's id.
 *
 * @param {Board} board
 * @returns {Map<string, Place>}
 */
export function placesOf(board) {
  const places = new Map();
  for (const column of board.columns) {
    column.cards.forEach((card, position) => places.set(card.id, { card, column, position }));
  }
  return places;
}

/**
 * @param {Board} before
 * @param {Board} after
 * @returns {Difference[]}
 */
export function compare(before, after) {
  return [...compareColumns(before, after), ...compareCards(placesOf(before), placesOf(after))];
}

function compareColumns(before, after) {
  const old = new Map(before.columns.map((column, place) => [column.id, { column, place }]));
  const stayed = after.columns.filter((column) => old.has(column.id));
  const still = new Set(
    longestRun(stayed.map((column) => old.get(column.id).place)).map((index) => stayed[index]),
  );
  const differences = [];
  const differ = (kind, { id, title }) =>
    differences.push({ kind, what: "column", id, name: title, where: "" });
  for (const column of after.columns) {
    if (!old.has(column.id)) differ("added", column);
    else if (old.get(column.id).column.title !== column.title) differ("renamed", column);
    else if (!still.has(column)) differ("moved", column);
    old.delete(column.id);
  }
  for (const { column } of old.values()) differ("removed", column);
  return differences;
}

function compareCards(before, after) {
  const shifted = shiftedCards(before, after);
  const differences = [];
  const differ = (kind, { card, column }) =>
    differences.push({ kind, what: "card", id: card.id, name: card.title, where: column.title });
  for (const [id, now] of after) {
    const old = before.get(id);
    if (!old) differ("added", now);
    else if (old.column.id !== now.column.id || shifted.has(id)) differ("moved", now);
    else if (!isSame(old.card, now.card)) differ("edited", now);
  }
  for (const [id, old] of before) if (!after.has(id)) differ("deleted", old);
  return differences;
}

/** The cards that changed their place among those that stayed in their column. */
function shiftedCards(before, after) {
  const columns = new Map();
  for (const [id, now] of after) {
    const old = before.get(id);
    if (old?.column.id !== now.column.id) continue;
    if (!columns.has(now.column.id)) columns.set(now.column.id, []);
    columns.get(now.column.id).push({ id, place: old.position });
  }
  const shifted = new Set();
  for (const cards of columns.values()) {
    const still = new Set(longestRun(cards.map((card) => card.place)));
    cards.forEach((card, index) => still.has(index) || shifted.add(card.id));
  }
  return shifted;
}

function isSame(card, other) {
  return ["title", "notes", "assignee"].every((name) => card[name] === other[name]);
}

/**
 * Tell in one sentence what happened: `Agent moved “Ship it” to Done`.
 *
 * @param {Difference[]} differences
 * @param {string | undefined} author
 */
export function sentence(differences, author) {
  if (differences.length === 0) return "";
  const agent = author === "agent";
  if (differences.length > 1) {
    const what = differences.every((one) => one.what === "card") ? "cards" : "things";
    return agent ? `Agent changed ${differences.length} ${what}` : `${differences.length} ${what} changed`;
  }
  const [{ kind, what, name, where }] = differences;
  const subject = what === "card" ? `“${shorten(name)}”` : `column “${shorten(name)}”`;
  const link = { added: " in ", moved: " to " }[kind];
  const place = where && link ? link + where : "";
  return agent ? `Agent ${kind} ${subject}${place}` : `${capital(subject)} ${kind}${place}`;
}

export function shorten(text) {
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}
