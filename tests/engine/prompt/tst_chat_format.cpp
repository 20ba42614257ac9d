// Which format a model gets, conversations and replies in templates and raw text, and how a reply is
// completed so that the next turn can follow it.

#include "prompt/template_presets.h"
#include "waste/chat_format.h"

#include <nlohmann/json.hpp>

#include <QTemporaryDir>
#include <QTest>

#include <fstream>
#include <random>

using namespace waste;
using Json = nlohmann::ordered_json;

namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

// A model directory whose vocabulary is the 256 bytes, with these special tokens from id 256 on.
class Model {
public:
    explicit Model(const std::vector<std::string>& specials, const Files& files = {})
    {
        std::string ranks;
        for (int byte = 0; byte < 256; ++byte)
            ranks +=
                QByteArray(1, static_cast<char>(byte)).toBase64().toStdString() + ' ' + std::to_string(byte) + '\n';
        write("tokenizer.model", ranks);
        Json list = Json::array();
        for (std::size_t i = 0; i < specials.size(); ++i)
            list.push_back({{"id", 256 + i}, {"text", specials[i]}});
        write("specials.json", list.dump());
        for (const auto& [name, content] : files)
            write(name, content);
        m_tokenizer = *Tokenizer::open(path(), 0);
    }
    [[nodiscard]] Result<std::shared_ptr<const ChatFormat>> open(
        ChatFormat::Choice choice = ChatFormat::Choice::Automatic) const
    {
        return ChatFormat::open(path(), m_tokenizer, choice);
    }
    [[nodiscard]] const Tokenizer& tokenizer() const { return *m_tokenizer; }

private:
    [[nodiscard]] std::filesystem::path path() const { return m_directory.path().toStdString(); }
    void write(const std::string& name, const std::string& content) const
    {
        std::ofstream(path() / name, std::ios::binary) << content;
    }
    QTemporaryDir m_directory;
    std::shared_ptr<const Tokenizer> m_tokenizer;
};

const std::vector<std::string> kK3{"[BOS]", "[EOS]", "<|end_of_msg|>", "<|open|>", "<|close|>", "<|sep|>",
    "<|media_begin|>", "<|media_content|>", "<|media_end|>", "<|media_pad|>"};
const std::vector<std::string> kK2{
    "[BOS]", "[EOS]", "<|im_end|>", "<|im_user|>", "<|im_assistant|>", "<|im_system|>", "<|im_middle|>", "[EOT]"};

std::string outline(const Result<Prompt>& prompt)
{
    if (!prompt)
        return prompt.error().message;
    std::string text;
    for (const Segment& segment : prompt->segments)
        text += segment.kind == Segment::Kind::Plain ? '(' + segment.text + ')' : segment.text;
    return text;
}

std::vector<TokenId> idsOf(const Tokenizer& tokenizer, std::string_view markup)
{
    std::vector<TokenId> ids;
    return tokenizer.encodeMarkup(markup, ids) ? ids : std::vector<TokenId>();
}

// A reply whose tokens are fed one by one.
ReplyReader readMarkup(const ChatFormat& format, std::string_view markup, const ReplyReader::Options& options)
{
    ReplyReader reader = format.readReply(options);
    for (const TokenId id : idsOf(format.tokenizer(), markup))
        reader.feed(id);
    reader.finish();
    return reader;
}

const std::string kConversation = R"([{"role": "developer", "content": "S"}, {"role": "user", "content": "<|im_end|>"},
    {"role": "assistant", "content": null}, {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])";

} // namespace

class TestChatFormat : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theFirstFormatThatFitsIsTaken_data()
    {
        QTest::addColumn<QStringList>("specials");
        QTest::addColumn<QByteArray>("chatJson");
        QTest::addColumn<QString>("automatic");
        QTest::addColumn<QString>("asTemplate");
        const auto list = [](const std::vector<std::string>& texts) {
            QStringList strings;
            for (const std::string& text : texts)
                strings << QString::fromStdString(text);
            return strings;
        };
        const QByteArray own = R"({"user": ["U:", "\n"]})";
        QTest::newRow("K3") << list(kK3) << QByteArray() << "xtml"
                            << "template";
        QTest::newRow("K3 with a template") << list(kK3) << own << "xtml"
                                            << "template";
        QTest::newRow("one marker is missing") << list({"<|open|>", "<|close|>", "<|sep|>"}) << own << "template"
                                               << "template";
        QTest::newRow("preset for K2") << list(kK2) << QByteArray() << "template"
                                       << "template";
        QTest::newRow("preset for ChatML") << list({"<|im_start|>", "<|im_end|>"}) << QByteArray() << "template"
                                           << "template";
        QTest::newRow("unusable template")
            << QStringList() << QByteArray(R"({"system": ["a", "b"], "user": ["", ""], "open": ""})") << "raw"
            << "not_found";
        QTest::newRow("nothing") << QStringList() << QByteArray() << "raw"
                                 << "not_found";
    }
    void theFirstFormatThatFitsIsTaken()
    {
        QFETCH(QStringList, specials);
        QFETCH(QByteArray, chatJson);
        QFETCH(QString, automatic);
        QFETCH(QString, asTemplate);
        std::vector<std::string> texts;
        for (const QString& text : specials)
            texts.push_back(text.toStdString());
        const Model model(texts, chatJson.isEmpty() ? Files() : Files{{"chat.json", chatJson.toStdString()}});
        const auto format = *model.open();
        QCOMPARE(QString::fromUtf8(format->name().data(), static_cast<qsizetype>(format->name().size())), automatic);
        QCOMPARE(format->hasThinking(), automatic == "xtml");
        QCOMPARE(format->warnings().empty(), automatic != "raw"); // a person is told about raw mode
        const auto forced = model.open(ChatFormat::Choice::Template);
        QCOMPARE(forced.has_value(), asTemplate == "template");
        if (!forced)
            QCOMPARE(forced.error().code, ErrorCode::NotFound);
        QVERIFY((*model.open(ChatFormat::Choice::Raw))->kind() == ChatFormat::Kind::Raw);
    }

    void refusesDamagedTemplates_data()
    {
        QTest::addColumn<QByteArray>("chatJson");
        QTest::addColumn<QString>("word");
        QTest::newRow("no JSON") << QByteArray("{") << "chat.json";
        QTest::newRow("an array") << QByteArray("[]") << "chat.json";
        QTest::newRow("role is a text") << QByteArray(R"({"user": "U:"})") << "\"user\"";
        QTest::newRow("role has one text") << QByteArray(R"({"system": ["a"]})") << "\"system\"";
        QTest::newRow("role has a number") << QByteArray(R"({"assistant": ["a", 1]})") << "\"assistant\"";
        QTest::newRow("open is a list") << QByteArray(R"({"open": []})") << "\"open\"";
        QTest::newRow("too large") << QByteArray(65537, ' ') << "chat.json";
    }
    void refusesDamagedTemplates()
    {
        QFETCH(QByteArray, chatJson);
        QFETCH(QString, word);
        const auto format = Model({}, {{"chat.json", chatJson.toStdString()}}).open();
        QVERIFY(!format);
        QCOMPARE(format.error().code, ErrorCode::Corrupt);
        QVERIFY2(QString::fromStdString(format.error().message).contains(word), format.error().message.c_str());
        QVERIFY(Model(kK3, {{"chat.json", chatJson.toStdString()}}).open()); // not looked at there
    }

    void rendersThePresets()
    {
        const Model k2(kK2);
        const auto format = *k2.open();
        QCOMPARE(outline(format->render(kConversation, {})),
            std::string(
                "<|im_system|>system<|im_middle|>(S)<|im_end|><|im_user|>user<|im_middle|>(<|im_end|>)<|im_end|>"
                "<|im_assistant|>assistant<|im_middle|><|im_end|><|im_user|>user<|im_middle|>(a)(b)<|im_end|>"
                "<|im_assistant|>assistant<|im_middle|>"));
        const auto prompt = *format->render(kConversation, {.addGenerationPrompt = false});
        QCOMPARE(prompt.messageEnds, (std::vector<std::size_t>{0, 3, 6, 8, 12}));
        QVERIFY(!prompt.thinking && prompt.startChannel == ReplyChannel::Response);
        const Model k3(kK3);
        QCOMPARE(outline((*k3.open(ChatFormat::Choice::Template))->render(R"([{"role": "user", "content": "x"}])", {})),
            std::string("<|open|>message role=\"user\"<|sep|>(x)<|close|>message<|sep|><|end_of_msg|>"
                        "<|open|>message role=\"assistant\"<|sep|><|open|>response<|sep|>"));
        const Model chatml({"<|im_start|>", "<|im_end|>"});
        QCOMPARE(outline((*chatml.open())->render(R"([{"role": "user", "content": "x"}])", {})),
            std::string("<|im_start|>user\n(x)<|im_end|>\n<|im_start|>assistant\n"));
    }

    void thePresetsFitTheirModels()
    {
        QCOMPARE(presetForArchitecture("kimi-k3")->name, std::string_view("k3-plain"));
        QCOMPARE(presetForArchitecture("kimi-linear")->name, std::string_view("kimi-k2"));
        QVERIFY(presetForArchitecture("llama") == nullptr);
        QCOMPARE(presetForTokenizer(Model(kK3).tokenizer())->name, std::string_view("k3-plain"));
        QCOMPARE(presetForTokenizer(Model(kK2).tokenizer())->name, std::string_view("kimi-k2"));
        QVERIFY(presetForTokenizer(Model({"<|im_end|>"}).tokenizer()) == nullptr);
        for (const TemplatePreset& preset : templatePresets()) // other readers of chat.json take no more
            QVERIFY(preset.json.size() <= 8191 && Json::accept(preset.json));
    }

    void imagesStandInFrontOfTheWordsOfTheirTurn()
    {
        const Model model(kK3);
        const std::string request =
            R"([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image", "image": "x"}]}])";
        const RenderOptions options{.image = [](const ImageReference&) -> Result<ImageSize> {
            return ImageSize{3, 4};
        }};
        const std::string block = "<|media_begin|>image 3x4<|media_content|><|media_pad|><|media_end|>";
        QVERIFY(outline((*model.open(ChatFormat::Choice::Template))->render(request, options)).find(block + "(a)")
            != std::string::npos);
        QCOMPARE(outline((*model.open(ChatFormat::Choice::Raw))->render(request, options)), block + "(a)");
    }

    void rawTextIsTheMessagesAndNothingElse()
    {
        const auto format = *Model({}).open();
        QCOMPARE(outline(format->render(kConversation, {})), std::string("(S)(\n)(<|im_end|>)(\n)(\n)(a)(b)"));
        QCOMPARE(outline(format->render(R"([{"role": "user", "content": "x"}])", {})), std::string("(x)"));
    }

    void whatOnlyTheNativeFormatHasIsRefusedElsewhere_data()
    {
        QTest::addColumn<QByteArray>("request");
        const QByteArray message = R"({"role": "user", "content": "x"})";
        const auto row = [](const char* name, const QByteArray& request) { QTest::newRow(name) << request; };
        const QByteArray messages = "{\"messages\": [" + message + "], ";
        row("tools", messages + R"("tools": [{"type": "function", "function": {"name": "f"}}]})");
        row("tool choice", messages + R"("tool_choice": "required"})");
        row("response format", messages + R"("response_format": {"type": "json_object"}})");
        row("tool result", '[' + message + R"(, {"role": "tool", "content": "x"}])");
        row("tool call", '[' + message + R"(, {"role": "assistant", "tool_calls": [{"name": "f"}]}])");
        row("renderer input", "");
    }
    void whatOnlyTheNativeFormatHasIsRefusedElsewhere()
    {
        QFETCH(QByteArray, request);
        for (const auto choice : {ChatFormat::Choice::Automatic, ChatFormat::Choice::Raw}) {
            const auto format = *Model(kK2).open(choice);
            const auto prompt = request.isEmpty() ? format->renderInput(R"({"messages": []})")
                                                  : format->render(request.toStdString(), {});
            QVERIFY(!prompt);
            QCOMPARE(prompt.error().reason, std::string("unsupported_feature"));
        }
    }

    void whatMeansNothingElsewhereIsAccepted()
    {
        QVERIFY(
            (*Model(kK2).open())
                ->render(
                    R"({"messages": [{"role": "assistant", "content": "x", "reasoning_content": "r", "tool_calls": []}],
                        "tools": [], "tool_choice": "auto", "response_format": {"type": "text"}, "thinking": "odd",
                        "reasoning_effort": "medium"})",
                    {}));
    }

    void unknownRolesAreRefusedEverywhere()
    {
        for (const auto choice : {ChatFormat::Choice::Automatic, ChatFormat::Choice::Raw}) {
            QVERIFY(!(*Model(kK2).open(choice))->render(R"([{"role": "critic", "content": "x"}])", {}));
            QVERIFY(!(*Model(kK2).open(choice))->render(R"([{"content": "x"}])", {}));
        }
    }

    void controlTokensOfOtherModelsAreWarnedAbout()
    {
        const Model model(
            {"<|a|>"}, {{"chat.json", R"({"user": ["<|a|>x<|b|>", "[INST]<|b|>[a][]<|"], "open": "[EOT]"})"}});
        const auto format = *model.open();
        QCOMPARE(format->warnings().size(), std::size_t{3});
        QVERIFY(format->warnings()[0].find("<|b|>") != std::string::npos);
        QVERIFY(format->warnings()[1].find("[INST]") != std::string::npos);
        QVERIFY(format->warnings()[2].find("[EOT]") != std::string::npos);
    }

    void repliesEndAtTheTokenOfTheAssistantSuffix()
    {
        const auto format = *Model(kK2).open();
        QVERIFY(std::ranges::equal(format->stopIds(), std::vector<TokenId>{258, 257, 263})); // <|im_end|> [EOS] [EOT]
        for (const char* stop : {"<|im_end|>", "[EOS]", "[EOT]"}) {
            const ReplyReader reader = readMarkup(*format, "a<|im_user|>b" + std::string(stop) + "c", {});
            QCOMPARE(reader.content(), std::string("a<|im_user|>b"));
            QVERIFY(reader.isOver() && reader.messageEnded());
            QCOMPARE(reader.reasoning(), std::string());
            QCOMPARE(reader.callCount(), std::size_t{0});
            QVERIFY(!reader.answerIsEmpty());
        }
    }

    void aSuffixOfWordsIsAStopString()
    {
        const auto format = *Model({}, {{"chat.json", "{\"assistant\": [\"A:\", \"\\n###\"]}"}}).open();
        ReplyReader reader = readMarkup(*format, "one\n##two\n###three", {});
        QCOMPARE(reader.content(), std::string("one\n##two"));
        QVERIFY(reader.isOver() && reader.stopStringMatched() && !reader.messageEnded());
    }

    void stopStringsLookAtTheContentOnly()
    {
        const auto format = *Model(kK3).open();
        const auto read = [&](std::string_view markup) {
            return readMarkup(*format, markup, {.start = ReplyChannel::Think, .stopStrings = {"END"}});
        };
        const std::string head = "END<|close|>think<|sep|><|open|>response<|sep|>";
        const ReplyReader stopped = read(head + "aENDb<|close|>response<|sep|>");
        QCOMPARE(stopped.reasoning(), std::string("END"));
        QCOMPARE(stopped.content(), std::string("a"));
        QVERIFY(stopped.isOver() && stopped.stopStringMatched());
        // Not across the border of an element, and nothing that was held back is lost.
        const ReplyReader split = read(head + "aEN<|close|>response<|sep|>D<|end_of_msg|>");
        QCOMPARE(split.content(), std::string("aEND"));
        QVERIFY(!split.stopStringMatched());
        const ReplyReader argument = read(head
            + "EN<|close|>response<|sep|><|open|>call tool=\"f\"<|sep|><|open|>argument "
              "key=\"a\"<|sep|>END<|close|>argument<|sep|>");
        QCOMPARE(argument.content(), std::string("EN"));
        QCOMPARE(argument.call(0).arguments, std::string("{\"a\": \"END\"}"));
    }

    void theNativeEndMarkerStopsAlsoWhereAnotherEndIsConfigured()
    {
        const auto format =
            *ChatFormat::open(WASTE_K3_MINI_CHECKPOINT, *Tokenizer::open(WASTE_K3_MINI_CHECKPOINT, 2816));
        QVERIFY(std::ranges::equal(format->stopIds(), std::vector<TokenId>{2816, 2817, 2818}));
    }

    // Render, cut off what the model would write, read it: the same message.
    void whatIsRenderedReadsBack_data()
    {
        QTest::addColumn<QByteArray>("message");
        std::ifstream stream(WASTE_TEST_DATA "/xtml/own_cases.json");
        const Json cases = Json::parse(stream);
        for (const Json& item : cases["round_trip"])
            QTest::newRow(item["name"].get<std::string>().c_str()) << QByteArray::fromStdString(item["message"].dump());
    }
    void whatIsRenderedReadsBack()
    {
        QFETCH(QByteArray, message);
        const auto format = *Model(kK3).open();
        for (const bool thinking : {true, false}) {
            Json expected = Json::parse(message.toStdString());
            if (!thinking)
                expected.erase("reasoning_content");
            const RenderOptions options{.thinking = thinking, .effort = "none", .addGenerationPrompt = false};
            const auto prompt = *format->render("[" + message.toStdString() + "]", options);
            const std::size_t openedCount = 10; // the generation prompt
            const auto ids = *encodeSegments(format->tokenizer(), std::span(prompt.segments).subspan(openedCount));
            ReplyReader reader = format->readReply({.start = thinking ? ReplyChannel::Think : ReplyChannel::Response});
            for (const TokenId id : ids)
                reader.feed(id);
            reader.finish();
            Json read = Json::parse(reader.messageJson());
            for (std::size_t i = 0; i < reader.callCount(); ++i) // the format does not carry ids
                read["tool_calls"][i]["id"] = "call_" + std::to_string(i);
            QCOMPARE(QString::fromStdString(read.dump()), QString::fromStdString(expected.dump()));
            QVERIFY(reader.messageEnded());
        }
    }

    // Whatever beginning of the reply was sampled: with the missing ids it is the rendered message.
    void aCutReplyIsCompletedToTheRenderedMessage()
    {
        const auto format = *Model(kK3).open();
        const Tokenizer& tokenizer = format->tokenizer();
        const std::string message = R"({"role": "assistant", "content": "Hi é!", "reasoning_content": "why",
            "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]})";
        const auto prompt = *format->render("[" + message + "]", {.effort = "none", .addGenerationPrompt = false});
        const auto whole = *encodeSegments(tokenizer, std::span(prompt.segments).subspan(10));
        for (std::size_t length = 0; length <= whole.size(); ++length) {
            const auto missing = *format->closeReply(std::span(whole).first(length), message, true);
            QVERIFY(missing);
            std::vector<TokenId> completed(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
            completed.insert(completed.end(), missing->begin(), missing->end());
            QCOMPARE(completed, whole);
        }
    }

    void aReplyThatIsSomethingElseCannotBeCompleted()
    {
        const auto format = *Model(kK3).open();
        const std::string message = R"({"role": "assistant", "content": "Hi"})";
        const auto isBeginning = [&](std::string_view markup, const std::string& of, bool thinking) {
            return format->closeReply(idsOf(format->tokenizer(), markup), of, thinking)->has_value();
        };
        QVERIFY(isBeginning("H", message, false));
        QVERIFY(isBeginning("Hi<|close|>resp", message, false));
        QVERIFY(!isBeginning("h", message, false));
        QVERIFY(!isBeginning("Hi!", message, false));
        QVERIFY(!isBeginning("Hi<|sep|>", message, false));
        QVERIFY(!isBeginning("H<|close|>", message, false));
        QVERIFY(!isBeginning("Hi<|close|>response<|sep|><|close|>message<|sep|><|end_of_msg|>x", message, false));
        QVERIFY(!isBeginning("thought", message, true)); // the message says nothing of it
        QVERIFY(!isBeginning("Hi", R"({"role": "assistant", "content": "Hi", "name": "n"})", false));
        QVERIFY(!format->closeReply({}, "no JSON", true));
    }

    void templatesAreCompletedBehindTheirStopToken()
    {
        const Model model({"<|im_start|>", "<|im_end|>"});
        const auto format = *model.open();
        const std::string message = R"({"role": "assistant", "content": "Hi"})";
        const auto missing = [&](std::string_view sampled) {
            return **format->closeReply(idsOf(model.tokenizer(), sampled), message, false);
        };
        QCOMPARE(missing("Hi<|im_end|>"), std::vector<TokenId>{'\n'});
        QCOMPARE(missing("H"), idsOf(model.tokenizer(), "i<|im_end|>\n"));
    }
};

QTEST_GUILESS_MAIN(TestChatFormat)
#include "tst_chat_format.moc"
