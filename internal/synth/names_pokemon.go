package synth

import "strings"

// list splits a list of names that are separated by commas.
func list(names string) []string {
	parts := strings.Split(names, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// pokemonNames are species.
var pokemonNames = list(`Bulbasaur, Ivysaur, Venusaur, Charmander, Charmeleon, Charizard, Squirtle, Wartortle,
	Blastoise, Caterpie,
	Butterfree, Weedle, Beedrill, Pidgey, Pidgeot, Rattata, Spearow, Fearow, Ekans, Arbok, Pikachu, Raichu,
	Sandshrew, Sandslash,
	Nidoran ♀, Nidoqueen, Nidoran ♂, Nidoking, Clefairy, Clefable, Vulpix, Ninetales, Jigglypuff, Wigglytuff,
	Zubat, Golbat, Oddish,
	Gloom, Vileplume, Paras, Venonat, Diglett, Dugtrio, Meowth, Persian, Psyduck, Golduck, Mankey, Primeape,
	Growlithe, Arcanine,
	Poliwag, Poliwrath, Abra, Kadabra, Alakazam, Machop, Machoke, Machamp, Bellsprout, Victreebel, Tentacool,
	Tentacruel, Geodude,
	Graveler, Golem, Ponyta, Rapidash, Slowpoke, Slowbro, Magnemite, Magneton, Farfetch'd, Doduo, Dodrio, Seel,
	Dewgong, Grimer, Muk,
	Shellder, Cloyster, Gastly, Haunter, Gengar, Onix, Drowzee, Hypno, Krabby, Kingler, Voltorb, Electrode,
	Exeggcute, Exeggutor,
	Cubone, Marowak, Hitmonlee, Hitmonchan, Lickitung, Koffing, Weezing, Rhyhorn, Rhydon, Chansey, Tangela,
	Kangaskhan, Horsea,
	Seadra, Goldeen, Staryu, Starmie, Mr. Mime, Scyther, Jynx, Electabuzz, Magmar, Pinsir, Tauros, Magikarp,
	Gyarados, Lapras, Ditto,
	Eevee, Vaporeon, Jolteon, Flareon, Porygon, Omanyte, Omastar, Kabuto, Kabutops, Aerodactyl, Snorlax,
	Articuno, Zapdos, Moltres,
	Dratini, Dragonair, Dragonite, Mewtwo, Mew, Chikorita, Meganium, Cyndaquil, Typhlosion, Totodile,
	Feraligatr, Hoothoot, Noctowl,
	Ledian, Crobat, Lanturn, Togepi, Togetic, Xatu, Ampharos, Bellossom, Azumarill, Sudowoodo, Politoed,
	Jumpluff, Espeon, Umbreon,
	Murkrow, Slowking, Misdreavus, Unown, Wobbuffet, Girafarig, Forretress, Dunsparce, Gligar, Steelix,
	Granbull, Scizor, Shuckle,
	Heracross, Sneasel, Ursaring, Magcargo, Skarmory, Houndoom, Kingdra, Donphan, Porygon2, Smeargle, Hitmontop,
	Miltank, Blissey,
	Raikou, Entei, Suicune, Larvitar, Tyranitar, Lugia, Ho-Oh, Celebi, Treecko, Sceptile, Torchic, Blaziken,
	Mudkip, Swampert,
	Gardevoir, Breloom, Slaking, Ninjask, Exploud, Hariyama, Sableye, Mawile, Aggron, Manectric, Camerupt,
	Torkoal, Flygon, Altaria,
	Zangoose, Seviper, Milotic, Absol, Walrein, Salamence, Metagross, Regirock, Regice, Registeel, Latias,
	Latios, Kyogre, Groudon,
	Rayquaza, Jirachi, Deoxys, Torterra, Infernape, Empoleon, Staraptor, Luxray, Roserade, Garchomp, Lucario,
	Weavile, Magnezone,
	Electivire, Magmortar, Togekiss, Leafeon, Glaceon, Porygon-Z, Gallade, Dusknoir, Rotom, Uxie, Mesprit,
	Azelf, Dialga, Palkia,
	Heatran, Giratina, Cresselia, Darkrai, Shaymin, Arceus, Victini, Serperior, Emboar, Samurott, Zoroark,
	Chandelure, Haxorus,
	Hydreigon, Volcarona, Reshiram, Zekrom, Kyurem, Keldeo, Meloetta, Genesect, Greninja, Delphox, Talonflame,
	Aegislash, Flabébé,
	Florges, Sylveon, Goodra, Xerneas, Yveltal, Zygarde, Diancie, Hoopa, Volcanion, Decidueye, Incineroar,
	Primarina, Lycanroc,
	Mimikyu, Type: Null, Silvally, Jangmo-o, Hakamo-o, Kommo-o, Tapu Koko, Tapu Lele, Tapu Bulu, Tapu Fini,
	Cosmog, Solgaleo, Lunala,
	Necrozma, Marshadow, Zeraora, Rillaboom, Cinderace, Inteleon, Corviknight, Toxtricity, Grimmsnarl, Mr. Rime,
	Sirfetch'd,
	Dragapult, Zacian, Zamazenta, Eternatus, Urshifu, Calyrex, Meowscarada, Skeledirge, Quaquaval, Palafin,
	Gholdengo, Baxcalibur,
	Iron Valiant, Roaring Moon, Koraidon, Miraidon, Ogerpon, Terapagos, Pecharunt`)

// pokemonOwners come before a species; the apostrophe is part of the name.
var pokemonOwners = list(`Misty's, Brock's, Erika's, Blaine's, Giovanni's, Lt. Surge's, Sabrina's, Koga's,
	Rocket's, Team Rocket's, Lillie's,
	N's, Iono's, Hop's, Marnie's, Cynthia's, Steven's, Arven's, Ethan's, Team Aqua's, Team Magma's, Imakuni?'s`)

var pokemonPrefixes = list(`Dark, Light, Shining, Alolan, Galarian, Hisuian, Paldean, Radiant, Origin Forme, Rapid Strike, Single Strike, Ice Rider`) // air: one text

// pokemonSuffixes are joined without a space if the first character is a hyphen.
var pokemonSuffixes = list(`ex, -EX, V, VMAX, VSTAR, -GX, BREAK, LV.X, δ, ★, ◇, V-UNION`)

// pokemonTrainers are supporters, items and stadiums.
var pokemonTrainers = list(`Professor's Research, Boss's Orders, Rare Candy, Switch, Energy Switch, Ultra Ball,
	Great Ball, Poké Ball, Nest Ball,
	Quick Ball, Pokémon Center, Pokémon Catcher, Pokégear 3.0, Pokédex, Potion, Super Potion, Energy Removal,
	Super Energy Removal,
	Energy Retrieval, Super Rod, Escape Rope, Battle VIP Pass, Computer Search, Item Finder, Bill, Lass, N,
	Iono, Marnie, Cynthia,
	Lillie, Guzma, Acerola, Professor Oak, Mr. Fuji, Nurse Joy, Colress's Experiment, Hop, Judge, Raihan, Sonia,
	Leon, Bea, Klara,
	Path to the Peak, Lost Vacuum, Forest Seal Stone, Choice Belt, Float Stone, Double Turbo Shuttle,
	Level Ball, Town Store,
	Artazon Plaza, Mesagoza Gate, Jamming Mast, Beach Court, Lost City Ruins, Temple of the Tides,
	Magma Basin Camp, Tool Scrapper,
	Counter Catcher, Trekking Boots, Air Balloon, Muscle Band, Spirit Link, VS Seeker, Trainers' Mail,
	Bug Catching Set`)

var pokemonEnergies = list(`Grass Energy, Fire Energy, Water Energy, Lightning Energy, Psychic Energy,
	Fighting Energy, Darkness Energy, Metal Energy,
	Double Colorless Energy, Jet Stream Energy, Reversal Surge Energy, Mist Veil Energy, Rainbow Arc Energy`)

var pokemonRarities = []rarity{
	{"Common", 300, 60, normalPrint},
	{"Uncommon", 260, 80, normalPrint},
	{"Rare", 110, 160, normalPrint},
	{"Rare Holo", 110, 420, holoPrint},
	{"Double Rare", 60, 520, topPrint},
	{"Ultra Rare", 50, 1500, topPrint},
	{"Illustration Rare", 40, 2200, topPrint},
	{"Amazing Rare", 10, 900, topPrint},
	{"Radiant Rare", 10, 500, topPrint},
	{"ACE SPEC Rare", 10, 700, topPrint},
	{"Rare Holo LV.X", 10, 3500, topPrint},
	{"Special Illustration Rare", 15, 9000, topPrint},
	{"Hyper Rare", 10, 4200, topPrint},
	{"Rare Secret", 5, 12000, topPrint},
}

// secretRarities belong to cards beyond the printed total and to the galleries.
var secretRarities = []rarity{
	{"Trainer Gallery Rare Holo", 400, 700, topPrint},
	{"Ultra Rare", 250, 1500, topPrint},
	{"Illustration Rare", 250, 2200, topPrint},
	{"Rare Secret", 100, 9000, topPrint},
}

var blackStarRarity = rarity{"Promo", 0, 700, topPrint}

var blackStarCodes = list(`SWSH, SM, XY, BW, SVP, HGSS, DP, MEP`)

var pokemonSeries = list(`Classic Journey, Neo Frontier, Delta Currents, Platinum Sky, Legend Calls,
	Black Meridian, Prism Break, Sunlit Isles,
	Shield & Ember, Violet Paths, Mega Dawn`)

var pokemonSetFirst = list(`Obsidian, Crimson, Silver, Astral, Tempest, Verdant, Phantom, Radiant, Frozen,
	Burning, Hidden, Ancient, Lost, Roaring,
	Silent, Crystal, Twilight, Shrouded, Golden, Electric, Mirage, Sapphire, Emerald, Scarlet, Violet, Azure,
	Ashen, Stellar, Lunar,
	Solar, Primal, Chrono, Dragon's, Guardian, Wandering, Shattered, Gilded, Thundering, Whispering, Boundless,
	Fabled, Rising,
	Fallen, Eternal, Secret, Misty, Stormy, Vivid, Prismatic, Surging, Temporal, Unseen, Celestial, Evolving,
	Mystic, Coral, Ivory,
	Iron, Feral, Molten, Cosmic, Hollow, Nimbus, Aurora`)

var pokemonSetLast = list(`Horizon, Tides, Flames, Origins, Shadows, Skies, Realms, Voices, Sparks, Legends,
	Guardians, Currents, Peaks, Depths, Echoes,
	Storms, Blades, Crowns, Gates, Fables, Paths, Ruins, Winds, Stars, Treasures, Rivals, Masks, Forces,
	Destinies, Wonders, Journeys,
	Fates, Reign, Eclipse, Harvest, Embers, Frontier, Vault, Awakening, Descent, Rebellion, Requiem, Odyssey,
	Labyrinth, Cascade,
	Covenant, Vanguard, Genesis`)

var setRevisions = list(`Revised, Expanded Edition, Second Printing, Complete, Reforged, Anniversary Edition, Renumbered`) // air: one text
