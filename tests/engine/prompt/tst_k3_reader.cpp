// Reading replies in the native K3 format: every published case at once, token by token and in every other
// cut; the rules that go beyond the reference; and random replies, whose deltas must add up.

#include "prompt/k3_reader.h"
#include "waste/chat_format.h"

#include <nlohmann/json.hpp>

#include <QTest>

#include <fstream>
#include <random>

using namespace waste;
using Json = nlohmann::ordered_json;
using Marker = K3Reader::Marker;

namespace {

std::shared_ptr<const ChatFormat> format()
{
    static const auto opened =
        *ChatFormat::open(WASTE_K3_MINI_CHECKPOINT, *Tokenizer::open(WASTE_K3_MINI_CHECKPOINT, 2818));
    return opened;
}

Json cases()
{
    std::ifstream stream(WASTE_TEST_DATA "/xtml/replies.json");
    return Json::parse(stream)["cases"];
}

ReplyChannel channelOf(const Json& item)
{
    return item["start_channel"] == "think" ? ReplyChannel::Think : ReplyChannel::Response;
}

Json finalOf(const ReplyReader& reader)
{
    Json calls = Json::array();
    for (std::size_t i = 0; i < reader.callCount(); ++i) {
        const ToolCall call = reader.call(i);
        calls.push_back({{"name", call.name}, {"index", call.index},
            {"id_attribute", call.idAttribute ? Json(*call.idAttribute) : Json()}, {"arguments_text", call.arguments},
            {"raw_json", call.rawJson}});
    }
    return {{"reasoning", reader.reasoning()}, {"content", reader.content()}, {"tool_calls", calls},
        {"ended", reader.messageEnded()}};
}

// A reply as one line: markers as they are, texts between them. "‹" and "›" stand for <|open|> and <|close|>,
// "│" for <|sep|> and "■" for <|end_of_msg|>.
struct Reading {
    std::string reasoning;
    std::string content;
    std::vector<K3Reader::Call> calls;
    std::uint32_t droppedCalls = 0;
    std::vector<std::size_t> changes; // positions of calls in the order in which they were reported
};

Reading readReply(std::string_view line, ReplyChannel start = ReplyChannel::Response)
{
    const std::vector<std::pair<std::string_view, Marker>> marks{
        {"‹", Marker::Open}, {"›", Marker::Close}, {"│", Marker::Separator}, {"■", Marker::End}};
    K3Reader reader(start);
    Reading reading;
    const auto take = [&](const ReplyDelta& delta) {
        reading.reasoning += delta.reasoning;
        reading.content += delta.content;
        reading.changes.insert(reading.changes.end(), delta.calls.begin(), delta.calls.end());
    };
    std::string text;
    while (!line.empty()) {
        const auto mark =
            std::ranges::find_if(marks, [&](const auto& candidate) { return line.starts_with(candidate.first); });
        if (mark == marks.end()) {
            text += line.front();
            line.remove_prefix(1);
            continue;
        }
        take(reader.feedText(std::exchange(text, {})));
        take(reader.feedMarker(mark->second));
        line.remove_prefix(mark->first.size());
    }
    take(reader.feedText(text));
    take(reader.finish());
    reading.calls = reader.calls();
    reading.droppedCalls = reader.droppedCalls();
    return reading;
}

std::string argumentsOf(const Reading& reading, std::size_t call = 0)
{
    return reading.calls.size() > call ? reading.calls[call].argumentsJson() : "no such call";
}

} // namespace

class TestK3Reader : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsEveryCaseWithItsDeltas_data()
    {
        QTest::addColumn<QByteArray>("item");
        for (const Json& item : cases())
            QTest::newRow(item["name"].get<std::string>().c_str()) << QByteArray::fromStdString(item.dump());
    }
    void readsEveryCaseWithItsDeltas()
    {
        QFETCH(QByteArray, item);
        const Json golden = Json::parse(item.toStdString());
        const auto result = format()->readReplyJson(golden["tokens"].dump(), channelOf(golden));
        QVERIFY2(result, result ? "" : result.error().message.c_str());
        const Json actual = Json::parse(*result);
        QCOMPARE(QString::fromStdString(actual["deltas"].dump(1)), QString::fromStdString(golden["deltas"].dump(1)));
        QCOMPARE(QString::fromStdString(actual["final"].dump(1)), QString::fromStdString(golden["final"].dump(1)));
    }

    void readsEveryCaseFromIds_data() { readsEveryCaseWithItsDeltas_data(); }
    // The texts as the tokeniser spells them: other cuts than those of the case, down to single bytes.
    void readsEveryCaseFromIds()
    {
        QFETCH(QByteArray, item);
        const Json golden = Json::parse(item.toStdString());
        const Tokenizer& tokenizer = format()->tokenizer();
        for (const bool singleBytes : {false, true}) {
            std::vector<TokenId> ids;
            for (const Json& token : golden["tokens"]) {
                const auto text = token["text"].get<std::string>();
                if (token["markup"].get<bool>())
                    ids.push_back(*tokenizer.special(text));
                else if (!singleBytes)
                    QVERIFY(tokenizer.encodePlain(text, ids));
                else
                    std::ranges::for_each(text, [&](const char& c) { (void)tokenizer.encodePlain({&c, 1}, ids); });
            }
            ReplyReader reader = format()->readReply({.start = channelOf(golden)});
            std::string content;
            std::string reasoning;
            const auto take = [&](const ReplyDelta& delta) {
                content += delta.content;
                reasoning += delta.reasoning;
            };
            for (const TokenId id : ids)
                take(reader.feed(id));
            take(reader.finish());
            QCOMPARE(QString::fromStdString(finalOf(reader).dump(1)), QString::fromStdString(golden["final"].dump(1)));
            QCOMPARE(content, reader.content());
            QCOMPARE(reasoning, reader.reasoning());
        }
    }

    void anArgumentWithoutKeyIsSwallowed()
    {
        const auto reading = readReply("‹tools│‹call tool=\"f\"│‹argument type=\"string\"│lost›argument│"
                                       "‹argument key=\"a\"│1›argument│›call│›tools│rest");
        QCOMPARE(argumentsOf(reading), std::string("{\"a\": 1}"));
        QCOMPARE(reading.content, std::string("rest"));
        QCOMPARE(
            argumentsOf(readReply("‹call tool=\"f\"│‹argument key=\"\"│x›argument│")), std::string("{\"\": \"x\"}"));
    }

    void anOpenValueIsStoredWhenItsElementIsLeft_data()
    {
        QTest::addColumn<QString>("tail");
        QTest::addColumn<QString>("content");
        QTest::newRow("close call") << "›call│›tools│‹response│x"
                                    << "x";
        QTest::newRow("close tools") << "›tools│x"
                                     << "x";
        QTest::newRow("close with an empty name") << "›│›tools│x"
                                                  << "x";
        QTest::newRow("open argument") << "‹argument key=\"b\"│2›tools│x"
                                       << "x";
        QTest::newRow("open json") << "‹json│{}›tools│x"
                                   << "x";
        QTest::newRow("open call") << "‹call tool=\"g\"│›tools│x"
                                   << "x";
        QTest::newRow("open tools") << "‹tools│›tools│›tools│x"
                                    << "x";
        QTest::newRow("open response") << "‹response│x"
                                       << "x";
        QTest::newRow("open think") << "‹think│›think│›tools│x"
                                    << "x";
        QTest::newRow("end") << "■"
                             << "";
        QTest::newRow("nothing more") << ""
                                      << "";
    }
    void anOpenValueIsStoredWhenItsElementIsLeft()
    {
        QFETCH(QString, tail);
        QFETCH(QString, content);
        const auto reading =
            readReply("‹tools│‹call tool=\"f\"│‹argument key=\"a\" type=\"string\"│v" + tail.toStdString());
        QVERIFY(!reading.calls.empty() && !reading.calls[0].arguments.empty());
        QCOMPARE(reading.calls[0].arguments[0].json, std::string("\"v\""));
        QCOMPARE(QString::fromStdString(reading.content), content);
    }

    void anUnknownElementInsideAnArgumentIsPartOfNothing()
    {
        const auto reading =
            readReply("‹call tool=\"f\"│‹argument key=\"a\" type=\"string\"│v‹b│w›b│x›argument│›call│");
        QCOMPARE(argumentsOf(reading), std::string("{\"a\": \"vwx\"}"));
    }

    void anOpenCallEndsWhereTheNextOpens()
    {
        const auto reading =
            readReply("‹tools│‹call tool=\"f\"│‹call tool=\"g\"│‹argument key=\"a\"│1›argument│›call│");
        QCOMPARE(reading.calls.size(), std::size_t{2});
        QVERIFY(reading.calls[0].closed && reading.calls[1].closed);
        QCOMPARE(argumentsOf(reading, 0), std::string("{}"));
        QCOMPARE(argumentsOf(reading, 1), std::string("{\"a\": 1}"));
        QCOMPARE(reading.calls[1].index, 2);
    }

    void aCallIsClosedOnlyByItsElement()
    {
        QVERIFY(!readReply("‹tools│‹call tool=\"f\"│").calls[0].closed);
        QVERIFY(readReply("‹tools│‹call tool=\"f\"│›call│").calls[0].closed);
        QVERIFY(readReply("‹tools│‹call tool=\"f\"│›tools│").calls[0].closed);
    }

    void valuesOutsideACallAreSwallowed()
    {
        for (const char* line : {"a‹argument key=\"k\"│lost›argument│b", "a‹json│lost›json│b",
                 "‹tools│‹call tool=\"f\"│›call│›tools│a‹argument key=\"k\"│lost›argument│b"}) {
            const auto reading = readReply(line);
            QCOMPARE(reading.content, std::string("ab"));
            QVERIFY(reading.calls.empty() || reading.calls[0].arguments.empty());
        }
    }

    void callsWithoutNameAreDropped()
    {
        const auto reading = readReply("‹tools│‹call index=\"1\"│x‹argument key=\"a\"│y›argument│‹b│z›b│›call│"
                                       "‹call tool=\"\"│›call│‹call tool=\"g\"│›call│›tools│rest");
        QCOMPARE(reading.droppedCalls, 2U);
        QCOMPARE(reading.calls.size(), std::size_t{1});
        QCOMPARE(reading.calls[0].index, 1); // a dropped call takes no position
        QCOMPARE(reading.content, std::string("rest"));
        QCOMPARE(reading.changes, std::vector<std::size_t>{0});
    }

    void callsBeyondTheLimitAreDropped()
    {
        std::string line = "‹tools│";
        for (int i = 0; i < 1001; ++i)
            line += "‹call tool=\"f\"│‹argument key=\"a\"│1›argument│›call│";
        const auto reading = readReply(line);
        QCOMPARE(reading.calls.size(), std::size_t{1000});
        QCOMPARE(reading.droppedCalls, 1U);
        QCOMPARE(reading.calls.back().arguments.size(), std::size_t{1});
    }

    void aHeaderWithoutEndBecomesText()
    {
        QCOMPARE(readReply("a‹resp").content, std::string("a<|open|>resp"));
        QCOMPARE(readReply("a›resp").content, std::string("a<|close|>resp"));
        QCOMPARE(readReply("a‹x‹resp").content, std::string("a<|open|>resp"));
        QCOMPARE(readReply("a‹resp■").content, std::string("a")); // structure, not a cut
        const std::string tooLong(65537, 'h');
        QCOMPARE(readReply("‹" + tooLong + "│x").content, "<|open|>" + tooLong + "x");
        const std::string longest(65536, 'h');
        QCOMPARE(readReply("‹" + longest + "│x").content, std::string("x"));
    }

    void elementsNestedTooDeeplyAreText()
    {
        std::string line;
        for (int i = 0; i < 255; ++i)
            line += "‹b│";
        QCOMPARE(readReply(line + "x").content, std::string("x"));
        QCOMPARE(readReply(line + "‹b│x").content, std::string("<|open|>bx"));
    }

    void headersAreReadAsTheReleaseReadsThem()
    {
        const auto call = [](const char* header) { return readReply("‹" + std::string(header) + "│").calls.at(0); };
        QCOMPARE(call("  call tool=\"f\" index=\"7\" id=\"x\"  ").index, 7);
        QCOMPARE(*call("call id=\"x y\" tool=\"f\"").idAttribute, std::string("x y"));
        QCOMPARE(call("call tool=f index=3").name, std::string("f"));
        QCOMPARE(call("call tool=f index=3").index, 3);
        QCOMPARE(call("call tool=\"f").name, std::string("f")); // the end of the header ends the value
        QCOMPARE(call("call =\"g\" tool=\"f\"").name, std::string("f"));
        QCOMPARE(call("call  tool=\"f\"\n index=\"2\"").index, 2);
        QCOMPARE(call("call tool=\"f\" index=\"-4\"").index, -4);
        for (const char* index : {"", "x", "1x", "+1", " 1", "1.0", "2147483648", "99999999999999999999"})
            QCOMPARE(call(("call tool=\"f\" index=\"" + std::string(index) + '"').c_str()).index, 1);
        QCOMPARE(call("call tool=\"&amp;quot; &quot;&amp;\"").name, std::string("&quot; \"&"));
    }

    void valuesTakeTheirDeclaredTypes_data()
    {
        QTest::addColumn<QString>("type");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("json");
        const auto row = [](const char* type, const char* text, const char* json) {
            QTest::addRow("%s %s", type, text) << type << text << json;
        };
        row("string", " 1 ", "\" 1 \"");
        row("null", "what", "null");
        row("boolean", " TRUE\n", "true");
        row("boolean", "False", "false");
        row("boolean", " yes ", "\" yes \"");
        row("number", " 1.50 ", "1.5");
        row("number", "12345678901234567890123", "12345678901234567890123");
        row("number", "-0", "0");
        row("number", "NaN", "\"NaN\"");
        row("number", "Infinity", "\"Infinity\"");
        row("number", "1e999", "\"1e999\"");
        row("number", "007", "\"007\"");
        row("number", "[1]", "[1]"); // any value is accepted
        row("object", "{\"b\":1,\"a\":[2,{}]}", "{\"b\": 1, \"a\": [2, {}]}");
        row("object", "{\"a\":1,\"b\":2,\"a\":3}", "{\"a\": 3, \"b\": 2}");
        row("object", "{'a': 1}", "\"{'a': 1}\"");
        row("array", "[1,]", "\"[1,]\"");
        row("", "true", "true");
        row("", "", "\"\"");
        row("String", "\"x\"", "\"x\""); // names are compared exactly
    }
    void valuesTakeTheirDeclaredTypes()
    {
        QFETCH(QString, type);
        QFETCH(QString, text);
        QFETCH(QString, json);
        const auto reading = readReply("‹call tool=\"f\"│‹argument key=\"a\" type=\"" + type.toStdString() + "\"│"
            + text.toStdString() + "›argument│");
        QCOMPARE(QString::fromStdString(reading.calls[0].arguments[0].json), json);
    }

    void valuesNestedTooDeeplyStayText()
    {
        const auto json = [](std::size_t depth) {
            const std::string value = std::string(depth, '[') + std::string(depth, ']');
            return readReply("‹call tool=\"f\"│‹argument key=\"a\"│" + value).calls[0].arguments[0].json;
        };
        QVERIFY(json(256).starts_with("["));
        QVERIFY(json(257).starts_with("\"["));
    }

    void aRepeatedKeyKeepsItsPlace()
    {
        const auto reading =
            readReply("‹call tool=\"f\"│‹argument key=\"a\"│1›argument│‹argument key=\"b\"│2›argument│"
                      "‹argument key=\"a\"│3›argument│›call│‹call tool=\"g\"│‹argument key=\"a\"│4›argument│");
        QCOMPARE(argumentsOf(reading, 0), std::string("{\"a\": 3, \"b\": 2}"));
        QCOMPARE(argumentsOf(reading, 1), std::string("{\"a\": 4}"));
    }

    void theLastJsonElementCountsAlsoWhenEmpty()
    {
        const auto reading =
            readReply("‹call tool=\"f\"│‹json│{\"a\": 1}›json│‹argument key=\"b\"│2›argument│‹json│›json│");
        QCOMPARE(argumentsOf(reading), std::string());
    }

    void aModelThatNeverAnswersIsNoticed()
    {
        const auto isEmpty = [](std::string_view markup) {
            std::vector<TokenId> ids;
            (void)format()->tokenizer().encodeMarkup(markup, ids);
            ReplyReader reader = format()->readReply({.start = ReplyChannel::Think});
            for (const TokenId id : ids)
                reader.feed(id);
            reader.finish();
            return reader.answerIsEmpty();
        };
        QVERIFY(isEmpty("just thinking"));
        QVERIFY(isEmpty("thinking<|close|>think<|sep|><|close|>message<|sep|><|end_of_msg|>"));
        QVERIFY(!isEmpty("thinking<|close|>think<|sep|><|open|>response<|sep|><|end_of_msg|>"));
        QVERIFY(!isEmpty("thinking<|close|>think<|sep|>text"));
        QVERIFY(!isEmpty("<|close|>think<|sep|><|open|>call tool=\"f\"<|sep|>"));
    }

    // No crash, and what was reported piece by piece is what is there in the end.
    void randomRepliesAddUp()
    {
        const std::vector<std::string> texts{"think", "response", "tools", "call", "call tool=\"f\"", "call tool=\"\"",
            "argument", "argument key=\"a\" type=\"number\"", "argument key=\"b\"", "json", "message", "", " ", "1",
            "x=\"", "{\"a\": 1}", "é", "\"", "b"};
        std::mt19937 random(23);
        for (int round = 0; round < 5000; ++round) {
            K3Reader reader(random() % 2 == 0 ? ReplyChannel::Think : ReplyChannel::Response);
            std::string all;
            std::size_t calls = 0;
            std::size_t textBytes = 0;
            const auto take = [&](const ReplyDelta& delta) {
                all += delta.reasoning + delta.content;
                for (const std::size_t call : delta.calls)
                    QVERIFY(call < reader.calls().size());
                QVERIFY(reader.calls().size() >= calls);
                calls = reader.calls().size();
            };
            for (int i = 0; i < 40; ++i) {
                if (random() % 2 == 0) {
                    take(reader.feedMarker(random() % 64 == 0 ? Marker::End : static_cast<Marker>(random() % 3)));
                    textBytes += 10;
                } else {
                    const std::string& text = texts[random() % texts.size()];
                    take(reader.feedText(text));
                    textBytes += text.size();
                }
            }
            take(reader.finish());
            QVERIFY(all.size() <= textBytes); // nothing is invented
            for (const K3Reader::Call& call : reader.calls()) {
                QVERIFY(!call.name.empty());
                if (!call.raw)
                    QVERIFY(Json::accept(call.argumentsJson()));
            }
        }
    }

    void tokensThatCannotBeReadAreErrors()
    {
        for (const char* tokens : {"", "{}", "[1]", "[{}]", R"([{"text": "a"}])", R"([{"text": 1, "markup": false}])",
                 R"([{"text": "a", "markup": 1}])", R"([{"text": "<|media_pad|>", "markup": true}])",
                 R"([{"text": "a", "markup": true}])", R"([{"id": -1}])", R"([{"id": 3072}])", R"([{"id": 1.5}])",
                 R"([{"id": "1"}])", R"([{"id": 99999999999}])"}) {
            const auto result = format()->readReplyJson(tokens, ReplyChannel::Think);
            QVERIFY2(!result, tokens);
            QCOMPARE(result.error().code, ErrorCode::InvalidArgument);
        }
    }

    void idsMayStandInForTexts()
    {
        // 2818 is <|end_of_msg|>; a character cut between two tokens is held back.
        const auto result = format()->readReplyJson(
            R"([{"id": 195}, {"id": 169}, {"text": "!", "markup": false}, {"id": 195}, {"id": 2818}, {"text": "x", "markup": false}])",
            ReplyChannel::Response);
        const Json json = Json::parse(*result);
        QCOMPARE(json["final"]["content"].get<std::string>(), std::string("é!\uFFFD"));
        QCOMPARE(json["final"]["ended"].get<bool>(), true);
        QCOMPARE(json["deltas"].size(), std::size_t{3});
    }

    void anotherStopTokenEndsTheStreamUnread()
    {
        ReplyReader reader = format()->readReply({});
        std::vector<TokenId> ids;
        QVERIFY(format()->tokenizer().encodeMarkup("a[EOS]b", ids));
        for (const TokenId id : ids)
            reader.feed(id);
        reader.finish();
        QCOMPARE(reader.content(), std::string("a"));
        QVERIFY(reader.isOver());
        QVERIFY(!reader.messageEnded());
    }

    void otherSpecialTokensAreTextWithTheirNames()
    {
        ReplyReader reader = format()->readReply({});
        std::vector<TokenId> ids;
        QVERIFY(format()->tokenizer().encodeMarkup("a<|media_pad|>b", ids));
        for (const TokenId id : ids)
            reader.feed(id);
        reader.feed(1 << 20); // a row without a text
        reader.finish();
        QCOMPARE(reader.content(), std::string("a<|media_pad|>b"));
    }

    void theMessageIsWhatAClientGets()
    {
        ReplyReader reader = format()->readReply({.start = ReplyChannel::Think, .declaredTools = {"g"}});
        std::vector<TokenId> ids;
        QVERIFY(
            format()->tokenizer().encodeMarkup("why<|close|>think<|sep|><|open|>tools<|sep|>"
                                               "<|open|>call tool=\"f\" id=\"own\"<|sep|><|open|>argument key=\"a\" "
                                               "type=\"number\"<|sep|>1<|close|>argument<|sep|><|close|>call<|sep|>"
                                               "<|open|>call tool=\"g\"<|sep|>",
                ids));
        for (const TokenId id : ids)
            reader.feed(id);
        reader.finish();
        const Json message = Json::parse(reader.messageJson());
        QCOMPARE(message["role"].get<std::string>(), std::string("assistant"));
        QVERIFY(message["content"].is_null());
        QCOMPARE(message["reasoning_content"].get<std::string>(), std::string("why"));
        QCOMPARE(message["tool_calls"].size(), std::size_t{2});
        const Json own = {{"name", "f"}, {"arguments", "{\"a\": 1}"}};
        const Json wanted = {{"id", "own"}, {"type", "function"}, {"function", own}};
        QVERIFY(message["tool_calls"][0] == wanted);
        const auto id = message["tool_calls"][1]["id"].get<std::string>();
        QVERIFY(id.starts_with("call_") && id.size() == 29);
        QVERIFY(!reader.call(0).declared && reader.call(0).complete);
        QVERIFY(reader.call(1).declared && !reader.call(1).complete);
    }
};

QTEST_GUILESS_MAIN(TestK3Reader)
#include "tst_k3_reader.moc"
