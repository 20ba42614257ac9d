// Which stored form a dense tensor gets (spec: container 8 and 9).

#include "container/format.h"
#include "convert/trunk_rule.h"

#include <QTest>

using namespace waste;

class TrunkRuleTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyKindOfTensorHasItsForm_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QList<int>>("shape");
        QTest::addColumn<bool>("pinned");
        QTest::addColumn<QString>("formats"); // at 3, 4 and 8 bits
        QTest::addColumn<QList<int>>("stored"); // empty: unchanged
        const auto row = [](const char* name, QList<int> shape, const char* formats, QList<int> stored = {},
                             bool pinned = false) {
            QTest::newRow(name) << name << shape << pinned << formats << stored;
        };
        row("model.layers.0.self_attn.q_proj.weight", {4096, 2304}, "Q3G Q4G Q8G");
        row("model.layers.0.self_attn.b_proj.weight", {32, 2304}, "Q3G Q4G Q8G");
        row("model.layers.0.self_attn.f_a_proj.weight", {32, 144}, "F32 F32 F32");
        row("exactly at the limit", {256, 256}, "Q3G Q4G Q8G");
        row("just below the limit", {255, 257}, "F32 F32 F32");
        row("model.embed_tokens.weight", {163840, 2304}, "Q8G Q8G Q8G");
        row("language_model.lm_head.weight", {163840, 7168}, "Q8G Q8G Q8G");
        row("model.layers.1.block_sparse_moe.gate.weight", {256, 2304}, "Q8G Q8G Q8G");
        row("model.layers.1.block_sparse_moe.shared_experts.gate_proj.weight", {1024, 2304}, "Q3G Q4G Q8G");
        row("model.norm.weight", {1 << 20}, "F32 F32 F32");
        row("model.layers.0.self_attn.q_conv1d.weight", {65536, 1, 4}, "F32 F32 F32", {}, true);
        row("model.output_attn_res_proj.weight", {1, 1 << 17}, "F32 F32 F32", {}, true);
        row("vision_tower.patch_embed.proj.weight", {1024, 3, 14, 14}, "Q8G Q8G Q8G", {1024, 588});
        row("vision_tower.patch_embed.pos_emb.weight", {64, 64, 1024}, "Q8G Q8G Q8G", {4096, 1024});
        row("vision_tower.encoder.blocks.0.wqkv.weight", {288, 64}, "Q8G Q8G Q8G");
        row("vision_tower.encoder.blocks.0.norm0.weight", {64}, "F32 F32 F32");
        row("mm_projector.proj.2.weight", {256, 256}, "Q8G Q8G Q8G");
        row("mm_projector.post_norm.weight", {256}, "F32 F32 F32");
    }
    void everyKindOfTensorHasItsForm()
    {
        QFETCH(QString, name);
        QFETCH(QList<int>, shape);
        QFETCH(bool, pinned);
        QFETCH(QString, formats);
        QFETCH(QList<int>, stored);
        const std::vector<std::uint64_t> dimensions(shape.begin(), shape.end());
        TensorSpec spec;
        spec.f32Only = pinned;
        QStringList chosen;
        for (const std::uint32_t bits : {3U, 4U, 8U}) {
            const TrunkForm form = chooseTrunkForm(name.toStdString(), dimensions, pinned ? &spec : nullptr, bits);
            chosen.append(QString::fromStdString(std::string(formatName(form.format))));
            QCOMPARE(QList<int>(form.shape.begin(), form.shape.end()), stored.isEmpty() ? shape : stored);
        }
        QCOMPARE(chosen.join(' '), formats);
    }
};

QTEST_APPLESS_MAIN(TrunkRuleTest)
#include "tst_trunk_rule.moc"
