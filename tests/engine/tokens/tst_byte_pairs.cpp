// Merging against the definition carried out literally, on random vocabularies.

#include "support/cpu_time.h"
#include "tokens/byte_pairs.h"

#include <QTest>

#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace waste;

namespace {

Vocabulary vocabularyOf(const std::vector<std::string>& merges)
{
    Vocabulary vocabulary(256 + merges.size());
    std::uint32_t rank = 0;
    for (int byte = 0; byte < 256; ++byte)
        vocabulary.add(std::string(1, static_cast<char>(byte)), rank++);
    for (const std::string& merge : merges) {
        if (vocabulary.add(merge, rank) == Vocabulary::Added::Yes)
            ++rank;
    }
    return vocabulary;
}

// Merges of what is there already, as training makes them, and some strings that no merge reaches.
Vocabulary randomVocabulary(std::mt19937& random)
{
    std::vector<std::string> tokens{"a", "b", "c"};
    for (int i = 0; i < 60; ++i) {
        tokens.push_back(tokens[random() % tokens.size()] + tokens[random() % tokens.size()]);
        if (random() % 8 == 0)
            tokens.push_back(std::string(3 + random() % 3, static_cast<char>('a' + random() % 3)));
    }
    return vocabularyOf(tokens);
}

std::vector<TokenId> merged(const Vocabulary& vocabulary, std::string_view piece)
{
    std::vector<TokenId> ids;
    appendPieceTokens(vocabulary, piece, ids);
    return ids;
}

std::vector<TokenId> mergedByDefinition(const Vocabulary& vocabulary, std::string_view piece)
{
    if (const auto whole = vocabulary.find(piece))
        return {*whole};
    std::vector<std::string> parts;
    for (const char byte : piece)
        parts.emplace_back(1, byte);
    while (true) {
        TokenId lowest = std::numeric_limits<TokenId>::max();
        std::size_t place = 0;
        for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
            const auto id = vocabulary.find(parts[i] + parts[i + 1]);
            if (id && *id < lowest) {
                lowest = *id;
                place = i;
            }
        }
        if (lowest == std::numeric_limits<TokenId>::max())
            break;
        parts[place] += parts[place + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    }
    std::vector<TokenId> ids;
    for (const std::string& part : parts)
        ids.push_back(*vocabulary.find(part));
    return ids;
}

std::string randomText(std::mt19937& random, std::size_t length)
{
    std::string text;
    for (std::size_t i = 0; i < length; ++i)
        text += static_cast<char>('a' + random() % 3);
    return text;
}

} // namespace

class TestBytePairs : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void mergesAsTheDefinitionSays()
    {
        std::mt19937 random(3);
        for (int round = 0; round < 300; ++round) {
            const Vocabulary vocabulary = randomVocabulary(random);
            for (const std::size_t length : {1, 2, 3, 5, 12, 40, 99, 100, 101, 102, 250}) {
                const std::string text = randomText(random, length);
                QVERIFY2(merged(vocabulary, text) == mergedByDefinition(vocabulary, text), text.c_str());
            }
        }
    }

    void ofEqualPairsTheLeftmostIsMergedFirst()
    {
        const Vocabulary vocabulary = vocabularyOf({"aa"});
        for (const std::size_t length : {3, 99, 101}) {
            const auto ids = merged(vocabulary, std::string(length, 'a'));
            QCOMPARE(ids.size(), length / 2 + 1);
            QCOMPARE(ids.front(), 256);
            QCOMPARE(ids.back(), TokenId{'a'});
        }
    }

    void aWholePieceIsTakenEvenWhereNoMergeReachesIt()
    {
        QCOMPARE(merged(vocabularyOf({"xyz"}), "xyz"), std::vector<TokenId>{256});
        QCOMPARE(merged(vocabularyOf({"xyz"}), "xyzx").size(), std::size_t{4});
    }

    void aPieceOfAHundredThousandBytesTakesLessThanASecond()
    {
        std::mt19937 random(5);
        const Vocabulary vocabulary = randomVocabulary(random);
        const std::string text = randomText(random, 100'000);
        const test::CpuTimer timer;
        const auto ids = merged(vocabulary, text);
        QVERIFY2(timer.seconds() < 1, qPrintable(QString::number(timer.seconds())));
        std::string back;
        for (const TokenId id : ids)
            back += vocabulary.bytes(id);
        QCOMPARE(back, text);
    }
};

QTEST_APPLESS_MAIN(TestBytePairs)
#include "tst_byte_pairs.moc"
