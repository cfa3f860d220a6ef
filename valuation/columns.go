package valuation

import (
	"errors"
	"slices"
	"strings"

	"ninepocket/cardvocab"
)

// byColumns is the layout of a file whose header is recognised by its words.
var byColumns = layout{}

// ignored is the column of everything that is neither of a card nor of a copy.
const ignored = "ignored"

// copyFlags are the columns of flags that make a copy another one.
var copyFlags = []string{"signed", "altered", "alter", "playset", "proxy", "misprint", "graded"}

// columnWords are the supported columns, by the names that people and apps use. Columns of a
// layout have the layout's names.
var columnWords = func() map[string]string {
	all := map[string]string{"simplename": "simplename", "localname": "localname", "rarity": "rarity"}
	for _, flag := range copyFlags {
		all[flag] = flag
	}

	for column, words := range map[string]string{
		"name":       "name,card name,card,product name,product,english name",
		"set":        "set,set name,expansion,expansion name,exp. name,card set,group name,edition name",
		"setcode":    "set code,edition code,expansion code,exp.,set abbreviation,set id",
		"edition":    "edition,print run",
		"cardnumber": "number,card number,collector number,collector's number,no.,nr.,num,card no.",
		"printing":   "printing,variant,finish,variance,variation,printing type,card variant,sub type name",
		"foil":       "foil,foil?,is foil,foiling",
		"condition":  "condition,card condition,cond.",
		"language":   "language,lang.,card language,id language",
		"quantity":   "quantity,qty,count,have,amount,copies,owned,total quantity,number owned,in stock,group count",
		"productid":  "product id,tcgplayer id,tcgplayer product id",
		"notes":      "notes,note,comment,comments,title,description",
		"category":   "game,category,product line,tcg",
		"foldername": "folder name,folder,binder,binder name,portfolio name,portfolio,list,deck,tags,tag,location",
		"grade":      "grade,grading,grading company,grader,slab",
		ignored: "trade quantity,tradelist count,wishlist count,add to quantity,low,mid,high,market,trend,sku,sku id," +
			"tcg direct low,watchlist,favorite,binder type,on sale,for trade,total,manabox id,scryfall id,card id," +
			"multiverse id,id product",
	} {
		for word := range strings.SplitSeq(words, ",") {
			all[cardvocab.Fold(word)] = column
		}
	}
	return all
}()

// ignoredWords are parts of the names of columns with money, days and pictures.
var ignoredWords = []string{"price", "date", "cost", "paid", "value", "currency", "url", "image", "photo", "modified"}

// columnOf returns the column of a cell of a header, "" for an unknown one.
func columnOf(cell string) string {
	written := cardvocab.Fold(strings.ReplaceAll(cell, "#", " number"))
	isPart := func(word string) bool { return strings.Contains(written, word) }
	if columnWords[written] == "" && slices.ContainsFunc(ignoredWords, isPart) {
		return ignored
	}
	return columnWords[written]
}

// minColumns is how many cells of a first row must be columns, or it is no header.
const minColumns = 2

// readColumns reads a header without a known layout by its words. The error names every fault:
// no column that may describe a card is skipped.
func readColumns(display []string) (header []string, err error) {
	count := 0
	var unknown, problems []string
	for _, cell := range display {
		column := columnOf(cell)
		header = append(header, column)
		if column != "" && column != ignored {
			count++
		}
		if column == "" && strings.TrimSpace(cell) != "" {
			unknown = append(unknown, `"`+clip(strings.TrimSpace(cell))+`"`)
		}
	}
	if count < minColumns {
		return nil, ErrHeader
	}

	settleColumns(header, display)
	has := func(column string) bool { return slices.Contains(header, column) }
	if !has("name") && !has("productid") && (!has("cardnumber") || !has("set")) {
		problems = append(problems, "the header names no card: it needs a name, a TCGplayer id, or set and number")
	}
	if twice := duplicateColumns(header, display); len(twice) > 0 {
		problems = append(problems, "the header has a column more than once: "+strings.Join(twice, ", "))
	}
	if len(unknown) > 0 {
		problems = append(problems, "the header has columns that are not known: "+strings.Join(unknown, ", ")+
			"; rename them or leave them out")
	}

	if len(problems) > 0 {
		return nil, errors.New(strings.Join(problems, "; "))
	}
	return header, nil
}

// settleColumns decides the meaning of ambiguous columns.
func settleColumns(header, display []string) {
	hasSet := slices.Contains(header, "set")
	hasCode := slices.Contains(header, "setcode")
	folded := foldedCells(display)
	for i, column := range header {
		switch {
		case !hasSet && (column == "setcode" || column == "edition" && !hasCode):
			header[i] = "set"

		// The ids of TCGplayer's sellers include the condition. Another app's product id may be that
		// of another card, which the name of the row excludes.
		case column == "productid" && (slices.Contains(folded, "addtoquantity") ||
			folded[i] == "productid" && !slices.Contains(header, "name")):
			header[i] = ignored
		}
	}
}
