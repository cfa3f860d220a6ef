package synth

// onePieceNames are characters.
var onePieceNames = list(`Monkey.D.Luffy, Roronoa Zoro, Nami, Usopp, Sanji, Tony Tony.Chopper, Nico Robin,
	Franky, Brook, Jinbe, Shanks, Buggy,
	Portgas.D.Ace, Sabo, Monkey.D.Garp, Monkey.D.Dragon, Gol.D.Roger, Edward.Newgate, Marshall.D.Teach, Kaido,
	Charlotte Linlin,
	Charlotte Katakuri, Charlotte Pudding, Charlotte Smoothie, Charlotte Cracker, Charlotte Brûlée,
	Donquixote Doflamingo,
	Donquixote Rosinante, Trafalgar Law, Eustass"Captain"Kid, Killer, Basil Hawkins, X.Drake, Scratchmen Apoo,
	Jewelry Bonney,
	Capone"Gang"Bege, Urouge, Crocodile, Boa Hancock, Boa Marigold, Boa Sandersonia, Dracule Mihawk,
	Bartholomew Kuma, Gecko Moria,
	Silvers Rayleigh, Nefeltari Vivi, Nefeltari Cobra, Karoo, Smoker, Tashigi, Hina, Koby, Helmeppo, Sengoku,
	Sakazuki, Kuzan,
	Borsalino, Issho, Tsuru, Rob Lucci, Kaku, Kalifa, Blueno, Spandam, Iceburg, Paulie, Tom, Enel, Wyper, Conis,
	Gan.Fall, Arlong,
	Hatchan, Kuroobi, Don Krieg, Gin, Zeff, Patty, Carne, Kuro, Kaya, Alvida, Morgan, Dr.Hiriluk, Dr.Kureha,
	Wapol, Dalton, Bell-mère,
	Nojiko, Genzo, Makino, Curly.Dadan, Galdino, Bentham, Daz.Bonez, Zala, Babe, Baby 5, Buffalo, Vergo, Monet,
	Caesar Clown, Pica,
	Trebol, Diamante, Sugar, Viola, Rebecca, Kyros, Cavendish, Bartolomeo, Leo, Hajrudin, Orlumbus, Ideo, Sai,
	Bellamy, Emporio.Ivankov,
	Inazuma, Magellan, Hannyabal, Perona, Absalom, Dr.Hogback, Ryuma, Lola, Shirahoshi, Otohime, Fukaboshi,
	Hody Jones, Vander Decken IX,
	Vinsmoke Reiju, Vinsmoke Judge, Vinsmoke Ichiji, Inuarashi, Nekomamushi, Carrot, Pedro, Wanda, Kouzuki Oden,
	Kouzuki Momonosuke,
	Kouzuki Hiyori, Kin'emon, Kanjuro, Raizo, Kikunojo, Denjiro, Shinobu, O-Nami, O-Tama, Yamato, King, Queen,
	Jack, Ulti, Page One,
	Sasaki, Black Maria, Who's.Who, Kurozumi Orochi, Uta, Gild Tesoro, Shiki, Vegapunk, S-Snake, S-Hawk, Stussy,
	Marco, Jozu, Vista,
	Izo, Thatch, Little Oars Jr., Benn.Beckman, Lucky.Roux, Yasopp, Laffitte, Jesus Burgess, Van Augur,
	Catarina Devon, Mr.1(Daz.Bonez),
	Miss All Sunday, Dorry, Brogy, Laboon, Crocus, Pandaman`)

var onePieceMoves = list(`Gum-Gum, Flame, Three-Sword Style, Black Leg, Thunder, Dragon, Ice Time, Shadow,
	Paw-Pad, Barrier, Gravity, Room,
	Conqueror's, Sea King, Fish-Man Karate, Soul, Sniper, Cyclone, Diable Jambe, Love-Love`)

var onePieceBlows = list(`Red Hawk Volley, Giant Rush, Storm Rifle, Gatling Storm, Champion Kick,
	Tiger Hunt Slash, Emperor's Fist, Burning Lance,
	Great Hammer, Silent Bite, Thousand Needles, King's Bazooka, Iron Wall, Moonwalk, Final Serenade,
	Eagle Dive, Star Shot,
	Tempest Blade, Twin Jet Pistol, Rising Phoenix`)

var onePieceEvents = list(`I'm Gonna Be King of the Seas!!, You Can Be My Nakama, Never Underestimate Me,
	Let's Set Sail!, A Promise for a Straw Hat,
	Come On!! We'll Fight You!!, The Day I Dreamed Of, Who Do You Think I Am?, Paradise Waterfall,
	Radical Beam Cannon!!`)

var onePieceStages = list(`Thousand Sunny, Going Merry, Baratie, Thriller Bark, Impel caseDown, Marineford,
	Onigashima, Dressrosa Colosseum, Sabaody Park,
	Mary Geoise, Whole Cake Château, Punk Hazard Lab, Alabasta Palace, Moby Dick, Corrida Arena, Egghead Lab`)

var onePieceRarities = []rarity{
	{"C", 400, 50, normalPrint},
	{"UC", 230, 80, normalPrint},
	{"R", 170, 160, foilPrint},
	{"SR", 100, 700, foilPrint},
	{"SEC", 30, 2600, foilPrint},
	{"SP CARD", 20, 6500, foilPrint},
	{"TR", 10, 5200, foilPrint},
	{"L", 40, 300, foilPrint},
}

var promotionRarity = rarity{"P", 0, 600, foilPrint}

var donRarity = rarity{"DON!!", 0, 120, foilPrint}

var onePieceSeries = list(`Booster Pack, Starter Deck, Extra Booster, Promotion`)

var onePieceSetFirst = list(`Dawn, Romance, Legacy, Wings, Crown, Fury, Memories, Pillars, Kingdom, Carnival,
	Oath, Banner, Voyage, Rage, Whispers,
	Flames, Bonds, Treasure, Shadow, Return, Secrets, Children, Verdict, Bounty, Ballad, Thunder, Riddle,
	Throne, Curse, Echo, Hunters,
	Feast, Gathering, Ruin, March, Compass, Anchor, Heirs, Siege, Last Song`)

var onePieceSetLast = list(`New Sea, Straw Crew, Four Emperors, Lost Century, Mighty Enemies, Worst Generation,
	Royal Blood, Navy, Sky Island,
	Fallen Kings, Silver Fox, Sun Pirates, Grand Voyage, Calm Belt, Red Cliff, Seven Warlords, Giants,
	Sword Saints, Supernovas,
	Future Island, Iron Prison, Sealed Door, Fish Kingdom, Ancient Weapon, Stone Tablets, Hidden Isle,
	Revolution, Black Tide,
	Beast King, Snow Country, Golden City, Mermaid Bay, Dead End Race, Living Map, Burning Cape, Mad Scientist,
	White Beard's Sons,
	Cherry Winter, Wild Samurai, Endless Summer`)
